"""Node and edge pools of a search tree: plain arrays and index handles, allocated once, never grown."""

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc


cdef enum:
    NIL = 0                # no node, no edge: index 0 of both pools is never used
    ROOT = 1


cdef struct Node:
    # An information set of the searching observer, as reached from its parent edge.
    uint64_t key           # event key of the transition that led here
    uint32_t next          # the next node below the same edge
    uint32_t first_edge
    uint32_t visits

cdef struct Edge:
    # An action at a node.
    int32_t action
    uint32_t next          # the next edge of the same node
    uint32_t first_node
    uint32_t visits
    uint32_t available     # visits of the node in which the action was legal

cdef struct Tree:
    uint32_t n_nodes
    uint32_t n_edges
    uint32_t capacity      # of either pool
    uint32_t seats
    Node *nodes
    Edge *edges
    double *totals         # [edge][seat]: sum of returns


cdef inline size_t bytes_per_entry(int seats) noexcept nogil:
    """Memory of one node and one edge: what one iteration adds at most."""
    return sizeof(Node) + sizeof(Edge) + seats * sizeof(double)


cdef inline bint tree_alloc(Tree *tree, uint32_t capacity, int seats) noexcept nogil:
    """Make a tree that holds the root alone; false when memory cannot be had."""
    tree.capacity = capacity
    tree.seats = seats
    tree.nodes = <Node *>malloc(capacity * sizeof(Node))
    tree.edges = <Edge *>malloc(capacity * sizeof(Edge))
    tree.totals = <double *>malloc(capacity * seats * sizeof(double))
    if tree.nodes == NULL or tree.edges == NULL or tree.totals == NULL:
        tree_free(tree)
        return False
    tree.nodes[ROOT] = Node(0, NIL, NIL, 0)
    tree.n_nodes = ROOT + 1
    tree.n_edges = 1
    return True


cdef inline void tree_free(Tree *tree) noexcept nogil:
    free(tree.nodes)
    free(tree.edges)
    free(tree.totals)
    tree.nodes = NULL
    tree.edges = NULL
    tree.totals = NULL


cdef inline uint32_t add_edge(Tree *tree, uint32_t node, int32_t action) noexcept nogil:
    """A new edge in front of the others; NIL when the pool is full."""
    cdef uint32_t edge = tree.n_edges
    cdef uint32_t i
    if edge == tree.capacity:
        return NIL
    tree.n_edges += 1
    tree.edges[edge] = Edge(action, tree.nodes[node].first_edge, NIL, 0, 0)
    tree.nodes[node].first_edge = edge
    for i in range(tree.seats):
        tree.totals[edge * tree.seats + i] = 0.0
    return edge


cdef inline uint32_t find_or_add_node(Tree *tree, uint32_t edge, uint64_t key) noexcept nogil:
    """The node below an edge with a key; NIL when it is new and the pool is full."""
    cdef uint32_t node = tree.edges[edge].first_node
    while node != NIL and tree.nodes[node].key != key:
        node = tree.nodes[node].next
    if node == NIL and tree.n_nodes < tree.capacity:
        node = tree.n_nodes
        tree.n_nodes += 1
        tree.nodes[node] = Node(key, tree.edges[edge].first_node, NIL, 0)
        tree.edges[edge].first_node = node
    return node


cdef inline bint copy_subtree(const Tree *old, uint32_t node, Tree *tree) noexcept nogil:
    """Copy what lies below a node to the root of an empty tree, nearest nodes first, as far as there is room; false when
    memory cannot be had."""
    cdef uint32_t *source = <uint32_t *>malloc(tree.capacity * sizeof(uint32_t))     # by node of the new tree
    cdef uint32_t i = ROOT, edge, child, copy, below, seat
    if source == NULL:
        return False
    source[ROOT] = node
    tree.nodes[ROOT].visits = old.nodes[node].visits
    while i < tree.n_nodes:
        edge = old.nodes[source[i]].first_edge
        while edge != NIL:
            copy = add_edge(tree, i, old.edges[edge].action)
            if copy == NIL:
                break
            tree.edges[copy].visits = old.edges[edge].visits
            tree.edges[copy].available = old.edges[edge].available
            for seat in range(tree.seats):
                tree.totals[copy * tree.seats + seat] = old.totals[edge * tree.seats + seat]
            child = old.edges[edge].first_node
            while child != NIL:
                below = find_or_add_node(tree, copy, old.nodes[child].key)
                if below == NIL:
                    break
                tree.nodes[below].visits = old.nodes[child].visits
                source[below] = child
                child = old.nodes[child].next
            edge = old.edges[edge].next
        i += 1
    free(source)
    return True
