"""S3A delegation tokens: their bytes, and how they are issued (s3a-delegation-tokens.md)."""
