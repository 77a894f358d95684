"""The queue's JSON API: parse, call the shared implementation, answer; every error is a problem (docs/api.md)."""
