"""Strings that have broken programs, as data."""

from __future__ import annotations

SQL = [
    "'", "''", '"', "';", "' or '1'='1", "' or 1=1 --", "'; drop table memories; --",
    '"; drop table events; --', "1; delete from scopes", "') union select * from store_meta --", "a' || 'b",
    "?", "?1", ":scope", "@p", "$p", "%", "_", "%%", "[a-z]", "\\", "\\'", "`", "/* */", "--", "x'00'",
    "null", "NULL", "true", "0", "-1", "1e999",
]  # fmt: skip
FULL_TEXT = [
    "NEAR(", "NEAR(a b, 5)", "AND", "OR", "NOT", "a AND", "AND OR NOT", "*", "a*", "^a", "a + b", "a:b",
    "terms:a", "{terms}:a", '"unclosed', '""', "(", ")", "()", "((((", "-a", "+", "~", "1zword", "rank:a",
    "col : term",
]  # fmt: skip
FORMATS = [
    "%s", "%n%n%n", "%(name)s", "{}", "{0}", "{0.__class__}", "{{", "}}", "${x}", "$(id)", "`id`",
    "; rm -rf /", "| cat", "&& true", "$HOME", "~", "<script>alert(1)</script>", "<!--", "]]>", "&lt;",
    "{{7*7}}", "#{7*7}", "../../etc/passwd", "..\\..\\x", "/dev/null", "C:\\nul", "file:///etc/passwd",
    "\\\\server\\share", "CON", "a\tb",
]  # fmt: skip
JSON = [
    "{", "}", "[", "]", "{}", "[]", '{"a": 1}', '[1, "a"]', '","a":"', '"]', "\\u0000", "\\ud800", "\\",
    '\\"', "NaN", "Infinity", "null,", '{"$ref": "#"}', "$.a", "$[0]", "__proto__", "constructor",
]  # fmt: skip
UNICODE = [
    "\ufeff", "\ufeffbom", "a\u200bb", "\u200b", "\u200c\u200d", "\u2060", "\u00ad", "\u202eevil\u202c",
    "\u2066a\u2069", "\u061c", "é", "e\u0301", "Å", "\u212b", "ß", "ẞ", "İ", "ı", "ﬁ", "Ⅳ", "①",
    "ａｂｃ", "漢字", "ｶﾞ", "한국어", "עִבְרִית", "العَرَبِيَّة", "हिन्दी", "ไทย", "🦊", "👩‍👩‍👧‍👦",
    "🏴‍☠️", "🇫🇷", "👍🏽", "\U0010ffff", "\ufffe", "\uffff", "\ufdd0", "\ue000", "𝒳",
    "z" + "\u0335" * 200, "\u0301", "\u0e33" * 30, "\u3000x", "\u2028x", "x\u2029", "\x85x",
    "\U000e0001\U000e0041",
]  # fmt: skip
CONTROLS = [chr(code) + "x" for code in (*range(0x20), 0x7F, 0x9B)] + [
    "a\r\nb",
    "\n\n\nx",
    "\x1b[31mred",
    "\x1b]0;t\x07",
]
BLANK = ["", " ", "\t", "\n", "\u3000", "\u2028", "\x1f", "  \r\n "]
NULS = ["\0", "a\0b", "\0\0\0", "a\0"]
SURROGATES = ["\ud800", "a\udfffb", "\ud83d", "\udd8a\ud83d", "\udc80"]
LONG = [
    "x" * 512,
    "x" * 513,
    "x" * 65_000,
    "é" * 2000,
    "a.b" * 700,
    "word " * 10_000,
    "漢 " * 10_000,
    "\n" * 9_000 + "x",
    "' " * 9_000,
]

HOSTILE = list(
    dict.fromkeys([*SQL, *FULL_TEXT, *FORMATS, *JSON, *UNICODE, *CONTROLS, *BLANK, *NULS, *SURROGATES, *LONG])
)
