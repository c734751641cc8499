"""Names and lines by which somebody might try to run a script in another person's page, or to deceive its reader.

Each sets `window.hit` where it is executed, so that a test asks one question of a page.
"""

import json

ACT = "window.hit=1"
MARKUP = [
    "<script>{act}</script>",
    "<script src=data:text/javascript,{act}></script>",
    "<ScRiPt/x>{act}</sCrIpT >",
    "<img src=x onerror={act}>",
    "<img/src=x/onerror={act}//",
    "<image src=x onerror={act}>",
    "<svg/onload={act}>",
    "<svg><script>{act}</script></svg>",
    "<svg><animate onbegin={act} attributeName=x dur=1s>",
    "<svg><a xlink:href=javascript:{act}><text y=20>x</text></a></svg>",
    "<body onload={act}>",
    "<details open ontoggle={act}>x",
    "<input autofocus onfocus={act}>",
    "<video><source onerror={act}></video>",
    "<audio src=x onerror={act}>",
    "<iframe srcdoc='<script>parent.{act}</script>'></iframe>",
    "<iframe src=javascript:parent.{act}></iframe>",
    "<object data=javascript:{act}></object>",
    "<embed src=javascript:{act}>",
    "<a href=javascript:{act}>x</a>",
    "<form action=javascript:{act}><button>x</button></form>",
    "<button formaction=javascript:{act}>x</button>",
    "<math><mtext><table><mglyph><style><img src=x onerror={act}>",
    "<noscript><p title='</noscript><img src=x onerror={act}>'>",
    "<template><script>{act}</script></template>",
    "<style>@import 'https://elsewhere.example/x.css'</style>",
    "<link rel=stylesheet href=https://elsewhere.example/x.css>",
    "<base href=https://elsewhere.example/>",
    "<meta http-equiv=refresh content='0;url=javascript:{act}'>",
    "<marquee onstart={act}>x</marquee>",
    "<x contenteditable onblur={act} tabindex=1 id=x>",
    "<p style=background:url(javascript:{act})>",
    "<img srcset=https://elsewhere.example/x.png>",
    "<portal src=https://elsewhere.example/>",
]
CODE = [
    "javascript:{act}",
    "JaVaScRiPt:{act}",
    "data:text/html,<script>{act}</script>",
    "'-{act}-'",
    '"-{act}-"',
    "${{{act}}}",
    "`+({act})+`",
    "{{{{constructor.constructor('{act}')()}}}}",
    "[x](javascript:{act})",
    '![x](x" onerror="{act})',
    "<javascript:{act}>",
    '=HYPERLINK("javascript:{act}";"x")',
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|'{act}'!A0",
    "__proto__",
    "constructor",
    "%3Cscript%3E{act}%3C/script%3E",
    "&lt;script&gt;{act}&lt;/script&gt;",
    "\\u003cscript\\u003e{act}\\u003c/script\\u003e",
    "]]><script>{act}</script>",
    "url(javascript:{act}) expression({act})",
]
AROUND = [
    "{0}",
    '">{0}',
    "'>{0}",
    "</title></textarea></style></pre></script>{0}",
    "--><!--{0}",
    "\u202e\u200b{0}",
]
DECEITFUL = [
    "\u202egnp.exe",
    "\u2066\u2067\u2068\u2069 isolated",
    "zero\u200bwidth\u200c\u200d\ufeff",
    "\u2028\u2029 line",
    "\u00ad\u034f\u180e\u3164 unseen",
    "\U000e0041\U000e0042 tags",
    "Z" + "\u0301\u0310\u0342" * 20,
    "\u200f\u05d0\u200ex",
    "раураl аdmin",
    "\x00\x07\x08\x7f\x9b31m",
]
TERMINAL = [
    "\x1b]8;;javascript:{act}\x07link\x1b]8;;\x07",
    "\x1b]8;;javascript:{act}\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]0;title\x07",
    "\x1b[2J\x1b[H\x1b[6n",
    "\x1bP+q544e\x1b\\",
    "\x1b]52;c;aGl0\x07",
    "\x1b[38;2;999;-1;x" + ";" * 80 + "m red",
    "\x1b[38;5;9999999999m colour",
    "\x1b[8m concealed\x1b[0m",
    "\x1b]1337;File=inline=1:AAAA\x07",
    "progress\r\r\r<script>{act}</script>",
    "\x1b[",
]
LONG = ["x" * 20_000, "<b>" * 3000, "&amp;" * 2000, "\U0001f600" * 500, "a " * 5000, "界" * 4000]
HOSTILE_NAMES = [around.format(text.format(act=ACT)) for around in AROUND for text in (*MARKUP, *CODE)] + [
    text.replace("{act}", ACT) for text in (*DECEITFUL, *TERMINAL)
]
HOSTILE_LINES = [*HOSTILE_NAMES, *LONG]


def hostile_files() -> dict[str, str]:
    """Files that a page may want to show as what they are: tables, notebooks, Markdown, drawings, pages."""
    lines = [line.replace("\0", "") for line in HOSTILE_LINES]
    quoted = ['"' + line.replace('"', '""') + '"' for line in lines]
    markup = "".join(line for line in HOSTILE_NAMES if line.startswith("<"))
    cell = {"cell_type": "markdown", "source": lines, "metadata": {}}
    outputs = [{"output_type": "display_data", "data": {"text/html": [markup]}, "metadata": {}}]
    code = {"cell_type": "code", "source": lines[:50], "outputs": outputs, "metadata": {}, "execution_count": 1}
    return {
        "table.csv": "\n".join(f"{one},{one}" for one in quoted),
        "notes.md": "\n\n".join(lines),
        "book.ipynb": json.dumps({"cells": [cell, code], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}),
        "page.html": f"<!doctype html>{markup}",
        "drawing.svg": f'<svg xmlns="http://www.w3.org/2000/svg" onload="{ACT}"><script>{ACT}</script></svg>',
        "<img src=x onerror=window.hit=1>.txt": "\n".join(lines),
        "'\"&lt;b>.json": json.dumps(lines),
    }
