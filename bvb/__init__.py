"""Bears vs Babies over gRPC: the client `bvb.Client`, its error `bvb.Error`, and the messages `bvb.v1.*_pb2`.

Needs none of the compiled packages.
"""

from bvb.client import Client, Error, FieldViolation

__all__ = ["Client", "Error", "FieldViolation"]
