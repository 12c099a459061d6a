"""Values at the edges: of the protocol, of HTTP, of JSON and of the libraries in between."""

from __future__ import annotations

INTEGERS = (
    *(-(2**63) - 1, -(2**63), -1, 0, 1, 2, 3, 500, 501),
    *(2**31 - 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64),
)
NUMERALS = ("0", "1", "-1", "1e3", "+1", "True", "false", "9" * 30, "9" * 5_000, "\u0663")
NAMES = (
    *("sales", "SALES", "eu", "EU", "us", "readers", "delta", "secret", "orders", "{share}", "*", "~"),
    *("manuals", "churn", "sql-style", "champion", "volumes", "models", "skills", "versions"),
    *("..", ".", "%", "%2F", "a/b", "a\\b", "?", "#", "+", "'; DROP TABLE shares;--"),
    *("\x00", "\n", "\r\nX-Injected: 1", "\x7f", "\xa0", "\u202e", "\ufeff", "\u2028"),
    *("\xe9", "e\u0301", "\xdf", "\u0130", "\U0001d4aa", "\U0001f3de", "\ufffd"),
    *("x" * 255, "x" * 256, "x" * 10_000),
)
ENCODED_NAMES = (
    *("%", "%2", "%zz", "%00", "%ff", "%c0%af", "%ed%a0%80", "%2e%2e", "a%2Fb", "//", ";", "a;b=c"),
    *("%25%32%46", "..%2f..%2fetc%2fpasswd", "%5c", "%0d%0aX-Injected:1"),
)
TIMESTAMPS = (
    *("2022-01-01T00:00:00Z", "2022-01-01T00:00:00 00:00", "2022-01-01 00:00:00Z", "20220101T000000Z"),
    *("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59.999999-23:59", "1969-12-31T23:59:59.999Z"),
    *("2022-02-30T00:00:00Z", "2022-W01-1T00:00:00Z", "2022-01-01T24:00:00Z", "2022-01-01", "now", ""),
    *("2022-01-01T00:00:00+99:99", "2022-01-01T00:00:00.1234567Z", "\uff12022-01-01T00:00:00Z"),
)
# What no JSON library writes, and what is at the edge of the grammar.
LITERALS = (
    *("NaN", "Infinity", "-0", "1e999", "-1e-999", "1E+2", "01", ".5", "0x10", "9" * 400, "9" * 5_000),
    *(r'"\ud800"', r'"\udfff\ud800"', r'"\u0000"', r'"\x"', '"\t"', '"', "'a'", "undefined", "tru"),
    *("[" * 2_000, "[" * 900 + "]" * 900, '{"a":' * 500 + "1" + "}" * 500, "//", "1,", "", "\ufeff{}"),
)
BODY_KEYS = (
    *("version", "timestamp", "startingVersion", "endingVersion", "limitHint", "predicateHints"),
    *("jsonPredicateHints", "maxFiles", "pageToken", "includeRefreshToken", "refreshToken"),
    *("idempotencyKey", "idempotency_key", "includeHistoricalMetadata"),
    *("includeHistoricalProtocol", "queryId", ""),
)
QUERY_KEYS = (
    *("maxResults", "pageToken", "version", "timestamp", "startingVersion", "startingTimestamp"),
    *("endingVersion", "endingTimestamp", "includeHistoricalMetadata", "includeHistoricalProtocol"),
    *("maxFiles", "X-Amz-Signature"),
)
CAPABILITIES = {
    "responseformat": ("delta", "parquet", "delta,parquet", "parquet,delta", "orc", "", "\xe9", "a,,"),
    "readerfeatures": (
        *("deletionvectors", "columnmapping", "deletionvectors,columnmapping,timestampntz"),
        *("deletionvectors,columnmapping,timestampntz,v2checkpoint,typewidening,varianttype", "none"),
    ),
    "includeendstreamaction": ("true", "false", "TRUE", "1", ""),
    "asyncquery": ("true", "false", "maybe"),
    "accessmode": ("url", "dir", "dir,url", "ftp"),
    "cdfonviews": ("true",),
}
CAPABILITY_PARTS = ("=", "==", "a=b=c", ",", "responseformat", ";" * 2_000, "a=" + "b," * 3_000)
HEADERS = (
    *("fileidhash", "content-type", "content-encoding", "content-length", "transfer-encoding", "host"),
    *("accept", "x-request-id", "x-forwarded-for", "traceparent", "range", "if-match", "cookie"),
)
HEADER_VALUES = ("parquet", "DELTA", "md5", "gzip", "text/plain", "x" * 9_000, "-1", "9" * 30)
RANGES = (
    *("bytes=0-", "bytes=-1", "bytes=0-0", "bytes=5-2", "bytes=-0", "bytes=-", "bytes=0-0,2-3"),
    *("bytes=999999999-", "bytes=" + "9" * 5_000 + "-", "bytes=0-" + "9" * 5_000, "items=0-1"),
    *("bytes=-" + "9" * 5_000, "bytes=a-b", "bytes= 1 - 2", "bytes", "=", "bytes=0x1-"),
)
DATES = (
    *("Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2099 07:28:00 GMT", "0", "yesterday"),
    *("Sun, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Mon, 32 Jan 2015 25:61:61 GMT"),
    *("Mon, 01 Jan 99999999999 00:00:00 GMT", "Mon, 01 Jan 0001 00:00:00 +2359", "1" * 5_000),
    *("Mon, 01 Jan 9999 23:59:59 -9999", "Mon, 01 Jan 2015 00:00:00 +99999999999", "Mon, 00 Jan 0"),
)
TAGS = ('"x"', "*", 'W/"x"', '"a", "b"', '"', "", "W/", "," * 2_000)
_LENGTHS = ("0", "1", "-1", "+2", "2.0", " 2 ", "0x2", "", "9" * 30, "9" * 5_000, "\xb2", "2, 2")
_ADDRESSES = (
    *("203.0.113.1", "127.0.0.1", "::1", "[::1]:80", "unknown", "_hidden", "", "," * 2_000),
    *("1.2.3.4, 5.6.7.8", "999.1.1.1", "for=1.2.3.4;proto=https", "203.0.113.1\x85", "x" * 9_000),
)
_CODINGS = (
    *(
        "gzip",
        "br, gzip;q=0",
        "*;q=0",
        "identity;q=0",
        "gzip;q=x",
        "gzip;q=" + "9" * 5_000,
        ";" * 2_000,
    ),
    *("", "\xe9", "deflate" + ", deflate" * 1_000),
)
_HOSTS = (
    *("", "other.example", "other.example:99999", "[::1", "a b", "..", "%00", "\xe9", "@", "x" * 9_000),
    *("localhost:-1", "https://other.example/x", "a/../b", "[v1.x]"),
)
_TRACES = (
    *("00-" + "0" * 32 + "-" + "0" * 16 + "-00", "00-" + "f" * 32 + "-" + "f" * 16 + "-01", "ff--"),
    *("00-" + "g" * 55, "", "-" * 2_000, "\xe9"),
)
HTTP_HEADERS = {
    "range": RANGES,
    "if-range": (*TAGS, *DATES),
    "if-match": TAGS,
    "if-none-match": TAGS,
    "if-modified-since": DATES,
    "if-unmodified-since": DATES,
    "content-length": _LENGTHS,
    "content-type": ("application/json", "application/json; charset=x", ";", "", "\xe9", "a/b" * 900),
    "content-encoding": _CODINGS,
    "transfer-encoding": ("chunked", "gzip, chunked", "", "\xe9"),
    "accept-encoding": _CODINGS,
    "accept": ("*/*", "application/octet-stream", "q", "", ";" * 2_000, "a/b;q=" + "9" * 400),
    "host": _HOSTS,
    "x-forwarded-for": _ADDRESSES,
    "x-forwarded-proto": ("https", "ftp", "", "https,http", "\xe9", "://"),
    "x-forwarded-host": _HOSTS,
    "x-forwarded-port": _LENGTHS,
    "forwarded": _ADDRESSES,
    "authorization": ("Bearer", "Bearer ", "Bearer a.b.c", "Bearer .", "Basic Og==", "Basic x", "\xe9"),
    "x-iceberg-access-delegation": ("vended-credentials", "remote-signing", ",", "\xe9", "," * 2_000),
    "traceparent": _TRACES,
    "tracestate": ("a=b", "=", "," * 2_000, "a" * 9_000, "\xe9"),
    "baggage": ("a=b;c", "%", "=" * 2_000, "\xe9"),
    "cookie": ("a=b", "=", ";" * 2_000, "\xe9"),
    "connection": ("close", "upgrade", "x" * 9_000),
    "upgrade": ("websocket", "h2c"),
    "expect": ("100-continue", "tea"),
    "x-request-id": ("a", "x" * 9_000, "\xe9", "", "{}"),
}
COLUMNS = (
    *("id", "ID", "country", "as_int", "as_string", "as_date", "as_timestamp", "part", "a.b", "value"),
    *("missing", "`id`", "", "\x00", "x" * 3_000, "_metadata.file_path"),
)
VALUE_TYPES = (
    *("bool", "int", "long", "string", "date", "float", "double", "timestamp"),
    *("decimal", "INT", "", "binary"),
)
OPERATIONS = (
    *("column", "literal", "isNull", "not", "and", "or", "equal", "lessThan", "lessThanOrEqual"),
    *("greaterThan", "greaterThanOrEqual", "AND", "in", "xor", ""),
)
VALUES = (
    *("1", "-1", "0", "9223372036854775808", "1e400", "NaN", "-Infinity", "true", "TRUE", "DE", ""),
    *("2021-04-29", "0000-00-00", "-0001-01-01", "99999-01-01", "2021-04-29T00:00:00Z", "'", "\x00"),
    *("\xe9" * 2_000, "9" * 5_000, "0x10", "1_000", " 1 "),
)
SQL = (
    *("id", "country", "`a b`", "=", "<=>", "<>", "!=", ">", "<=", "IS NULL", "IS NOT NULL", "IN", "("),
    *(")", ",", "AND", "OR", "NOT", "BETWEEN", "LIKE", "'DE'", "'", "''", '"', "1", "-1", "1.5e400"),
    *(
        "date '2021-01-01'",
        "CAST(id AS INT)",
        "NULL",
        "true",
        ";",
        "--",
        "/*",
        "\x00",
        "\u2028",
        "\xe9",
    ),
    *("(" * 3_000, "9" * 5_000, "NOT " * 2_000, "id = 1 AND " * 500 + "id = 1", "SELECT"),
)
