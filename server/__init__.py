"""The gRPC service and the `bvb` command line."""
