"""Bears vs Babies over gRPC: the client `bvb.Client` and the messages `bvb.v1`."""
