"""In the browser: play a network, look inside its search, watch it learn (`halfmove web`)."""
