// Tasks that the owner puts in front of the local queue (engine/src/queues/local_queue.hpp: push_front)
// while thieves steal. That moves the head back, so a thief may find a head again that it has read before,
// with other tasks behind it.
//
// check: pass -DTHIEF_ROUNDS=1
// check: pass -DTASKS=3
// check: pass -DTASKS=5 -DTHIEVES=1
// check: fail -DREAD_FIRST
// check: fail -DFRONT_WHILE_STOLEN
// check: fail -DFRONT_WITHOUT_ROOM -DTASKS=5 -DTHIEVES=1
// check: fail -DGIVEN_RELAXED
//
// As ring.pml, which is about pushing, popping and shedding; but cells hold any task, so an overwritten task
// is lost, and a task that is read too early runs twice. Positions count modulo 16 and begin above the wrap.
//
// READ_FIRST          a thief copies the tasks before its CAS, and trusts that the head is still the one that
//                     it had read
// FRONT_WHILE_STOLEN  push_front does not wait until a thief has copied
// FRONT_WITHOUT_ROOM  push_front does not count its room
// GIVEN_RELAXED       the head is seen before the cells in front of it are filled (tag *given* weakened)

#ifndef TASKS
#define TASKS 4
#endif
#ifndef THIEVES
#define THIEVES 2
#endif
#ifndef THIEF_ROUNDS
#define THIEF_ROUNDS 2
#endif
#define CAPACITY 4
#define MODULUS 16
#define START 1

#define BEHIND(a, b) (((a) + MODULUS - (b)) % MODULUS)
#define SLOT(position) ((position) % CAPACITY)

// Between two accesses of a thread that other threads cannot tell apart from one there is no step of its own:
// only the owner writes cells and `own_tail`, and a CAS that fails and is tried again is one with a head that
// was read later. A cell that is taken is emptied, and it makes no difference which thief begins first.

byte cells[CAPACITY];
byte steal_head = START; // the two halves of ring_head: always read and changed in one step
byte real_head = START;
byte tail = START;     // what others have seen; what they see next is between this and `own_tail`
byte own_tail = START; // what the owner has stored
bit taken[TASKS + 1];
byte taken_count;
byte next_task = 1;
bit begun; // by a thief

inline take(value) {
  assert(value != 0 && !taken[value]); // else: from an empty cell, or taken twice
  taken[value] = 1;
  taken_count++
}

// local_queue::push
inline push() {
  d_step {
    if
    :: BEHIND(own_tail, steal_head) < CAPACITY ->
      cells[SLOT(own_tail)] = next_task;
      own_tail = (own_tail + 1) % MODULUS;
      next_task++
    :: else
    fi
  }
}

// local_queue::push_front of `count` tasks
inline push_front() {
  d_step {
    steal = steal_head;
    real = real_head;
    won = 1;
#ifndef FRONT_WHILE_STOLEN
    won = won && steal == real;
#endif
#ifndef FRONT_WITHOUT_ROOM
    won = won && BEHIND(own_tail, real) + count <= CAPACITY;
#endif
    first = (real + MODULUS - count) % MODULUS
  }
#ifndef GIVEN_RELAXED
  fill();
#endif
  d_step {
    won = won && steal_head == steal && real_head == real;
    if
    :: won -> tail = own_tail; steal_head = first; real_head = first // a release
    :: else
    fi
  }
#ifdef GIVEN_RELAXED
  fill();
#endif
  d_step {
    if
    :: won -> next_task = next_task + count
    :: else
    fi;
    i = 0;
    won = 0;
    steal = 0;
    real = 0;
    first = 0;
    count = 0
  }
}
inline fill() {
  i = 0;
  do
  :: won && i < count -> d_step { cells[SLOT(first + i)] = next_task + i; i++ }
  :: else -> break
  od;
  assert(!won || i == count)
}

// local_queue::pop
inline pop() {
  d_step {
    if
    :: real_head == own_tail -> drained = 1
    :: else ->
      tail = own_tail; // a release
      take(cells[SLOT(real_head)]);
      cells[SLOT(real_head)] = 0;
      if
      :: steal_head == real_head -> real_head = (real_head + 1) % MODULUS; steal_head = real_head
      :: else -> real_head = (real_head + 1) % MODULUS
      fi
    fi
  }
}

active proctype owner() {
  byte steal, real, first, count, i;
  bit drained, won;
  do
  :: next_task <= TASKS -> push()
  :: next_task <= TASKS -> count = 1; push_front()
  :: next_task < TASKS -> count = 2; push_front()
  :: real_head != own_tail -> pop()
  :: next_task > TASKS -> break
  od;
  drained = 0;
  do
  :: drained -> break
  :: else -> pop()
  od
}

// Copies `count` cells from `first`, one at a time.
inline copy_cells() {
  i = 0;
  do
  :: i < count ->
    d_step {
      copy[i] = cells[SLOT(first + i)];
#ifndef READ_FIRST
      cells[SLOT(first + i)] = 0;
#endif
      i++
    }
  :: else -> break
  od;
  assert(i == count)
}

// The owner's stores of the tail reach the others one by one, each at its time.
inline read_tail() {
  atomic {
    do
    :: tail != own_tail -> tail = (tail + 1) % MODULUS
    :: break
    od;
    count = (BEHIND(tail, first) + 1) % MODULUS / 2;
    if
    :: count > CAPACITY -> count = CAPACITY
    :: else
    fi
  }
}

// local_queue::steal
active[THIEVES] proctype thief() {
  byte first, steal, count, i, rounds;
  byte copy[CAPACITY];
  bit won;
  _pid == 1 || begun;
  do
  :: rounds == THIEF_ROUNDS -> break
  :: else ->
    d_step { rounds++; begun = 1; steal = steal_head; first = real_head }
    do
    :: won || steal != first -> break
    :: else ->
      read_tail();
      if
      :: count == 0 -> break
      :: else
      fi;
#ifdef READ_FIRST
      copy_cells();
#endif
      d_step {
        won = (steal_head == steal && real_head == first);
        if
        :: won -> real_head = (first + count) % MODULUS
        :: else -> steal = steal_head; first = real_head
        fi
      }
    od;
    if
    :: won ->
#ifndef READ_FIRST
      copy_cells();
#endif
      d_step {
        steal_head = real_head; // the last CAS: no one else moves `steal`
        i = count;
        do
        :: i > 0 -> i--; take(copy[i]); copy[i] = 0
        :: else -> break
        od
      }
    :: else
    fi;
    d_step { won = 0; first = 0; steal = 0; count = 0; i = 0 }
  od
}

active proctype monitor() {
  timeout -> assert(taken_count == TASKS && steal_head == real_head && real_head == own_tail)
}
