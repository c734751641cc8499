/** For libraries that add a <style> of their own, such as CodeMirror. The hub writes it into the page, anew each time. */
export const nonce = globalThis.document?.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
