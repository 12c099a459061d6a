"""What task executors implement, and the grants of the realms whose tasks they run."""
