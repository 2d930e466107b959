"""The same training on many machines, by Ray. Nothing outside imports this unless asked."""
