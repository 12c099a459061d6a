"""Any name, query string and method at any address."""

from __future__ import annotations

import hypothesis.strategies as st
from support.fuzz.fuzz_strategies import VISIBLE, names, queries
from support.fuzz.fuzzing import Fuzzer

TABLE = "/delta-sharing/shares/{}/schemas/{}/tables/{}"
ASSETS = "/delta-sharing/shares/{}/schemas/EU/"
TEMPLATES = (
    *("/delta-sharing/shares", "/delta-sharing/shares/{}", "/delta-sharing/shares/{}/schemas"),
    *("/delta-sharing/shares/{}/schemas/{}/tables", "/delta-sharing/shares/{}/all-tables"),
    *(TABLE, f"{TABLE}/version", f"{TABLE}/metadata", f"{TABLE}/query", f"{TABLE}/changes"),
    *(f"{ASSETS}{{}}", f"{ASSETS}volumes/{{}}", f"{ASSETS}models/{{}}", f"{ASSETS}skills/{{}}"),
    *(f"{ASSETS}models/churn/versions", f"{ASSETS}models/churn/versions/{{}}"),
    *(f"{ASSETS}models/churn/aliases/{{}}", f"{ASSETS}volumes/{{}}/temporary-volume-credentials"),
    *(f"/delta-sharing/shares/{{}}/all-{kind}s" for kind in ("volume", "model", "skill")),
    *(f"{TABLE}/queries/{{}}", f"{TABLE}/temporary-table-credentials", "/content/{}/{}", "/{}", "{}"),
)
METHODS = (
    *("GET",) * 8,
    *("POST", "POST", "HEAD"),
    *("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "X"),
)


def test_addresses(fuzzer: Fuzzer, places: list[dict[str, str]]) -> None:
    real = st.sampled_from(places).map(lambda place: [*place.values(), "AAAA"])
    made = st.lists(names(), min_size=4, max_size=4)
    path = st.tuples(st.sampled_from(TEMPLATES), st.one_of(real, made)).map(
        lambda pair: pair[0].format(*pair[1])
    )
    target = st.one_of(st.tuples(path, queries()).map("".join), st.text(VISIBLE, max_size=40))
    sent = st.tuples(st.sampled_from(METHODS), target.map(lambda text: "/" + text.lstrip("/")))
    fuzzer.run("addresses", sent, lambda each: fuzzer.ask(each[0], each[1]))
