"""Documents in, deliveries out, on Spark: the only package that imports pyspark."""
