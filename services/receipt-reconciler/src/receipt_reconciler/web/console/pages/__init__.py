"""Handlers: each reads what was asked, calls one operation, and renders or redirects."""
