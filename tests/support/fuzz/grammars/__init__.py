"""Bytes by the grammars of formats, of which few become much: long lists, empty and repeated values."""
