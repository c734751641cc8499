export const Logo = () => (
  <svg viewBox="0 0 32 32" className="size-6" aria-hidden>
    <rect width="32" height="32" rx="8" className="fill-logo" />
    <g fill="none" stroke="#fff" strokeWidth="2.6" strokeLinecap="round">
      <path d="M7 12.5c3 0 3-2.5 6-2.5s3 2.5 6 2.5 3-2.5 6-2.5" opacity=".55" />
      <path d="M7 17.5c3 0 3-2.5 6-2.5s3 2.5 6 2.5 3-2.5 6-2.5" opacity=".8" />
      <path d="M7 22.5c3 0 3-2.5 6-2.5s3 2.5 6 2.5 3-2.5 6-2.5" />
    </g>
  </svg>
);
