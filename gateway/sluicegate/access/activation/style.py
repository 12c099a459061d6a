"""The style sheet of the activation page."""

from __future__ import annotations

STYLE = """\
:root { --text: #1c2430; --back: #f6f7f9; --card: #fff; --line: #c9d0d9; --code: #eef1f5;
  --accent: #0b5394; --accent-strong: #083d6d; --on-accent: #fff; color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6eaf0; --back: #12161c; --card: #1b212a; --line: #3b4654; --code: #10141a;
    --accent: #8cc0f5; --accent-strong: #b5d7fa; --on-accent: #10141a; }
}
body { background: var(--back); color: var(--text); font: 1.125rem/1.6 system-ui, sans-serif;
  margin: 0; }
main { background: var(--card); border: 1px solid var(--line); border-radius: 0.5rem;
  box-sizing: border-box; margin: 6vh auto; max-width: 46rem; padding: 1.5rem 2rem 2rem; }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { border-top: 1px solid var(--line); font-size: 1.25rem; margin-top: 2.5rem; padding-top: 1.5rem; }
strong, p > code, li > code { overflow-wrap: anywhere; }
code { font-family: ui-monospace, monospace; font-size: 0.9em; }
button { background: var(--accent); border: 0; border-radius: 0.25rem; color: var(--on-accent);
  cursor: pointer; font: inherit; font-weight: 600; padding: 0.6rem 1.4rem; }
button:hover { background: var(--accent-strong); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
details { border: 1px solid var(--line); border-radius: 0.25rem; margin: 0.5rem 0; padding: 0 1rem; }
summary { cursor: pointer; font-weight: 600; margin: 0 -1rem; padding: 0.4rem 1rem; }
pre { background: var(--code); border: 1px solid var(--line); border-radius: 0.25rem; overflow-x: auto;
  padding: 0.75rem; }
pre code { display: block; user-select: all; }
@media (max-width: 30rem) {
  body { font-size: 1rem; }
  main { border-radius: 0; border-width: 0; margin: 0; padding: 1rem; }
}
"""
