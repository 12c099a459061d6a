"""Issues credentials for directories of a bucket, limits them with policies, and revokes them."""
