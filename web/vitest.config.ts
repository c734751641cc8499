import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { playwright } from "@vitest/browser-playwright";
import { defineConfig } from "vitest/config";

const alias = { "@": fileURLToPath(new URL("./src", import.meta.url)) };
export default defineConfig({
  test: {
    projects: [
      { resolve: { alias }, test: { name: "pure", include: ["src/**/*.test.ts"], environment: "node" } },
      {
        plugins: [react({ jsxImportSource: "@/jsx" })],
        resolve: { alias },
        // What tests load on demand: found in their midst, it would make Vite start them again.
        optimizeDeps: {
          include: ["client-zip", ...["alert-dialog", "dialog", "menu"].map((part) => `@base-ui/react/${part}`)],
        },
        test: {
          name: "browser",
          include: ["src/**/*.browser.test.tsx"],
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            provider: playwright({
              launchOptions: { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] },
            }),
            instances: [{ browser: "chromium" }],
          },
        },
      },
    ],
  },
});
