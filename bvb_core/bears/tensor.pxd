from libc.stdint cimport uint8_t

from bvb_core.bears.cards cimport N_CODES
from bvb_core.bears.state cimport View


cdef struct Shape:
    # What depends on deck and options: sizes of axes, where blocks begin, and what quantities are divided by.
    int players
    int base_actions
    int n_kinds
    int n_heads
    int n_torsos
    int n_masks
    int n_slots
    int n_remains
    int army_size
    int n_hand             # kinds that can be in a hand, heads included
    int n_babies           # kinds
    uint8_t code[N_CODES]  # kind index -> code
    int rules
    int turn
    int piles
    int hand
    int discard
    int players_block
    int located
    int located_heads
    int armies
    int monsters
    int remains
    int size
    float copies[N_CODES]  # in the deck, by code
    float head_copies
    float turn_limit
    float actions
    float hand_cards
    float score
    float points
    float strength


cdef class TensorLayout:
    cdef Shape shape
    cdef readonly tuple blocks


cdef object tensor_of(TensorLayout layout, const View *view, bint armageddon, bint practice, object out)
