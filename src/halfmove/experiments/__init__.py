"""The papers' figures and tables, each one command."""
