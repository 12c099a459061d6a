"""Long tasks on Apache Spark for Sluicegate's delegation service."""
