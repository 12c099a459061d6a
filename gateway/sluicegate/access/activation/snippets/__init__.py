"""How recipients read tables with common programs: for the activation page and for docs."""
