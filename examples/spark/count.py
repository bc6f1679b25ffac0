"""Spark: the session finds the cluster that was started for this job alone."""

import os

from pyspark.sql import SparkSession

session = SparkSession.builder.appName("count").getOrCreate()
context = session.sparkContext
nodes = context.parallelize(range(8), 8).map(lambda _: os.environ.get("SLURMD_NODENAME", "here")).distinct().collect()
total = session.range(0, 1_000_000, 1, 4).selectExpr("sum(id)").collect()[0][0]
print(f"master {context.master}: sum {total}, computed on {sorted(nodes)}")
session.stop()
