from bvb_core.bears.cards cimport Ctx
from bvb_core.bears.tensor cimport TensorLayout
from bvb_core.game cimport Game as BaseGame
from bvb_core.game cimport Observation as BaseObservation
from bvb_core.game cimport State as BaseState


cdef class Game(BaseGame):
    cdef Ctx context
    cdef readonly object deck
    cdef readonly bint armageddon, practice
    cdef readonly int turn_limit
    cdef readonly list names           # card ids by code
    cdef readonly dict codes           # and back
    cdef readonly dict heads           # card ids of heads by their word in the notation
    cdef readonly TensorLayout tensor_layout


cdef class State(BaseState):
    cdef bytes start           # the state after the deal, None where the history is not known
    cdef list history          # ids of the actions since


cdef class Observation(BaseObservation):
    pass
