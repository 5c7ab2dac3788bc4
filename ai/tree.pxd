"""Search trees in one block of memory, allocated once and never grown.

Edges are taken from its start and outcomes from its end, until they meet. Both are addressed by index, and an information set
by a pointer to the index of its first edge, which stays where it is.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc


cdef enum:
    NIL = 0                # no edge, no outcome, no key


cdef struct Edge:
    # An action of a seat at an information set, with its first outcome: for most actions the only one.
    uint32_t code          # action and seat, see edge_code
    uint32_t next          # the next edge of the same information set
    uint32_t visits
    uint32_t available     # visits of the information set in which the action was legal
    float mean             # return of the seat
    uint32_t key           # of the first outcome; NIL: none yet
    uint32_t first_edge    # of the information set that it leads to
    uint32_t outcomes      # the others: root of a binary search tree

cdef struct Outcome:
    # Keys are hashes, so that the search tree of an edge needs no balancing.
    uint32_t key
    uint32_t[2] below      # those with smaller and with larger keys
    uint32_t first_edge

cdef struct Tree:
    Edge *edges
    Outcome *outcomes      # the end of the block: outcome i is outcomes[-i]
    uint32_t n_edges
    uint32_t n_outcomes
    size_t room            # bytes that are left


# What one iteration adds at most.
cdef inline size_t bytes_per_iteration() noexcept nogil:
    return sizeof(Edge) + sizeof(Outcome)


cdef inline uint32_t edge_code(int32_t action, int32_t seat) noexcept nogil:
    """Seats are part of it since an observer does not always know who is to move. They take three bits (MAX_SEATS)."""
    return <uint32_t>action << 3 | <uint32_t>seat


cdef inline int32_t action_of(uint32_t code) noexcept nogil:
    return code >> 3


cdef inline int32_t seat_of(uint32_t code) noexcept nogil:
    return code & 7


cdef inline uint32_t short_key(uint64_t key) noexcept nogil:
    """32 bits of an event key, never NIL. Of two outcomes of one action, one pair in four billion is taken for the same."""
    cdef uint32_t folded = <uint32_t>(key ^ key >> 32)
    return folded if folded != NIL else 1


cdef inline bint tree_alloc(Tree *tree, size_t size, int32_t roots) noexcept nogil:
    """Edges 1 to `roots` stand for what came before; below them the trees begin. False when memory cannot be had."""
    cdef size_t least = (roots + 1) * sizeof(Edge) + (roots + 1) * bytes_per_iteration()
    cdef int32_t i
    if size < least:
        size = least
    tree.edges = <Edge *>malloc(size)
    if tree.edges == NULL:
        return False
    tree.outcomes = <Outcome *>(<char *>tree.edges + size // sizeof(uint32_t) * sizeof(uint32_t))
    for i in range(roots + 1):
        tree.edges[i] = Edge(0, NIL, 0, 0, 0.0, NIL, NIL, NIL)
    tree.n_edges = roots + 1
    tree.n_outcomes = 0
    tree.room = size // sizeof(uint32_t) * sizeof(uint32_t) - tree.n_edges * sizeof(Edge)
    return True


cdef inline void tree_free(Tree *tree) noexcept nogil:
    free(tree.edges)
    tree.edges = NULL


cdef inline uint32_t add_edge(Tree *tree, uint32_t *node, uint32_t code) noexcept nogil:
    """A new edge of an information set, in front of the others; NIL when the tree is full."""
    cdef uint32_t edge = tree.n_edges
    if tree.room < sizeof(Edge):
        return NIL
    tree.room -= sizeof(Edge)
    tree.n_edges += 1
    tree.edges[edge] = Edge(code, node[0], 0, 0, 0.0, NIL, NIL, NIL)
    node[0] = edge
    return edge


cdef inline Outcome *outcome_of(const Tree *tree, uint32_t i) noexcept nogil:
    return &tree.outcomes[-<int64_t>i]


cdef inline uint32_t *find_node(const Tree *tree, uint32_t edge, uint32_t key) noexcept nogil:
    """The information set below an edge with a key; NULL when there is none."""
    cdef Edge *e = &tree.edges[edge]
    cdef uint32_t i = e.outcomes
    cdef Outcome *outcome
    if e.key == key:
        return &e.first_edge
    while i != NIL:
        outcome = outcome_of(tree, i)
        if outcome.key == key:
            return &outcome.first_edge
        i = outcome.below[outcome.key < key]
    return NULL


cdef inline uint32_t *find_or_add_node(Tree *tree, uint32_t edge, uint32_t key) noexcept nogil:
    """The information set below an edge with a key; NULL when it is new and the tree is full."""
    cdef Edge *e = &tree.edges[edge]
    cdef uint32_t *place = &e.outcomes
    cdef Outcome *outcome
    if e.key == key:
        return &e.first_edge
    if e.key == NIL:
        e.key = key
        return &e.first_edge
    while place[0] != NIL:
        outcome = outcome_of(tree, place[0])
        if outcome.key == key:
            return &outcome.first_edge
        place = &outcome.below[outcome.key < key]
    if tree.room < sizeof(Outcome):
        return NULL
    tree.room -= sizeof(Outcome)
    tree.n_outcomes += 1
    place[0] = tree.n_outcomes
    outcome = outcome_of(tree, tree.n_outcomes)
    outcome.key = key
    outcome.below[0] = outcome.below[1] = outcome.first_edge = NIL
    return &outcome.first_edge


cdef inline void add_return(Edge *edge, double value) noexcept nogil:
    """Count a visit of an edge with what it brought the seat. The mean is kept, since a sum of many would lose digits."""
    edge.visits += 1
    edge.mean += <float>(value - edge.mean) / edge.visits


cdef inline uint32_t node_visits(const Tree *tree, uint32_t first_edge) noexcept nogil:
    """Of an information set: those of its edges."""
    cdef uint32_t total = 0, edge = first_edge
    while edge != NIL:
        total += tree.edges[edge].visits
        edge = tree.edges[edge].next
    return total


cdef struct Copying:
    # An information set of the old tree, and where its copy stands.
    uint32_t source
    uint32_t *target


cdef inline size_t copy_branch(const Tree *old, uint32_t i, Tree *tree, uint32_t target, Copying *queue) noexcept nogil:
    """Copy outcomes from one of them down; see copy_outcomes."""
    cdef Outcome *outcome
    cdef size_t n = 0
    if i == NIL:
        return 0
    outcome = outcome_of(old, i)
    queue[0] = Copying(outcome.first_edge, find_or_add_node(tree, target, outcome.key))
    if queue[0].target != NULL:
        n = 1
        n += copy_branch(old, outcome.below[0], tree, target, queue + n)
        n += copy_branch(old, outcome.below[1], tree, target, queue + n)
    return n


cdef inline size_t copy_outcomes(const Tree *old, uint32_t source, Tree *tree, uint32_t target, Copying *queue) noexcept nogil:
    """Copy the outcomes of an edge as far as there is room, without what is below them; what there is goes into the queue."""
    if old.edges[source].key == NIL:
        return 0
    queue[0] = Copying(old.edges[source].first_edge, find_or_add_node(tree, target, old.edges[source].key))
    if queue[0].target == NULL:
        return 0
    return 1 + copy_branch(old, old.edges[source].outcomes, tree, target, queue + 1)


cdef inline void copy_below(const Tree *old, Tree *tree, Copying *queue, size_t known) noexcept nogil:
    """Copy what is below the information sets of the queue, nearest ones first, as far as there is room. The queue has room
    for all information sets of the old tree."""
    cdef size_t done = 0
    cdef uint32_t edge, copy
    while done < known:
        edge = queue[done].source
        while edge != NIL:
            copy = add_edge(tree, queue[done].target, old.edges[edge].code)
            if copy == NIL:
                break
            tree.edges[copy].visits = old.edges[edge].visits
            tree.edges[copy].available = old.edges[edge].available
            tree.edges[copy].mean = old.edges[edge].mean
            known += copy_outcomes(old, edge, tree, copy, queue + known)
            edge = old.edges[edge].next
        done += 1
