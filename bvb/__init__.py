"""Bears vs Babies over gRPC: the client `bvb.Client`, its error `bvb.Error`, and the messages `bvb.v1.*_pb2`.

Needs none of the compiled packages.
"""

from importlib.metadata import version

from bvb.client import Analysis, Client, Seat
from bvb.messages import Error, FieldViolation

__all__ = ["Analysis", "Client", "Error", "FieldViolation", "Seat", "__version__"]

#: Of the installed bvb-engine, from pyproject.toml.
__version__ = version("bvb-engine")
