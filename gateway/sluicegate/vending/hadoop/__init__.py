"""S3A delegation tokens: their encoding, and how they are issued (S3A token architecture)."""
