import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const hub = process.env.COMPUTEPOOL_URL ?? "http://127.0.0.1:8000";
const VENDOR =
  /node_modules\/(react|react-dom|scheduler|use-sync-external-store|openapi-fetch|@tanstack\/(?!.*virtual)[^/]+)\//;

export default defineConfig({
  plugins: [react({ jsxImportSource: "@/jsx" }), tailwindcss()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  html: { cspNonce: "__CSP_NONCE__" },
  build: {
    assetsInlineLimit: 0, // data: URLs would need an exception in the policy
    modulePreload: { polyfill: false },
    manifest: true,
    sourcemap: false,
    chunkSizeWarningLimit: 400,
    rolldownOptions: {
      // One file of what every page needs, instead of a dozen: fewer requests, and it compresses better.
      output: { codeSplitting: { groups: [{ name: "vendor", test: VENDOR }] } },
    },
  },
  worker: { format: "es" },
  server: {
    port: 5173,
    proxy: {
      // To the hub its own page asks: it refuses pages of other origins.
      "/api": { target: hub, ws: true, changeOrigin: true, rewriteWsOrigin: true, headers: { origin: hub } },
      "/openapi.json": hub,
      "/healthz": hub,
    },
  },
});
