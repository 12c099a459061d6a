"""How many cores a cluster has, and how tasks divide them."""
