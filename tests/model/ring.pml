// The local queue (engine/src/queues/local_queue.hpp): its owner pushes, pops, exchanges and sheds, two
// thieves steal.
//
// check: pass
// check: pass -DTASKS=7 -DTHIEF_ROUNDS=1
// check: fail -DMOVE_BOTH
// check: fail -DROOM_BY_REAL
// check: fail -DRELAXED_POP
// check: fail -DTAIL_FIRST
// check: fail -DBLIND_EXCHANGE
//
// Each position carries the task of its number, so a cell that is overwritten while a thief copies it, or
// read before it is filled, hands out a wrong task. Positions count modulo 16 and begin just below the wrap.
// The `tail` that other threads see may lag behind the owner's store until the owner changes the head, which
// is a release.
//
// MOVE_BOTH     a thief moves `steal` together with `real`, before it has copied
// ROOM_BY_REAL  push counts its room from `real`, not from `steal`
// RELAXED_POP   the owner's change of the head is no release (tag *taken* weakened)
// TAIL_FIRST    push shows the tail before the cell is filled (tag *filled* weakened)
// BLIND_EXCHANGE  the owner takes the task that was the oldest, whether or not a thief came between

#ifndef TASKS
#define TASKS 6
#endif
#ifndef THIEF_ROUNDS
#define THIEF_ROUNDS 2
#endif
#define CAPACITY 4
#define MODULUS 16
#define START 13

#define BEHIND(a, b) (((a) + MODULUS - (b)) % MODULUS)
#define SLOT(position) ((position) % CAPACITY)
#define NUMBER(position) (BEHIND(position, START) + 1)

byte cells[CAPACITY];
byte steal_head = START; // the two halves of ring_head: always read and changed in one step
byte real_head = START;
byte tail = START;  // what others see
byte own_tail = START; // what the owner has stored
bit taken[TASKS + 1];
byte taken_count;

inline take(position, value) {
  assert(value == NUMBER(position)); // else: a stale or overwritten cell
  assert(!taken[value]);             // else: taken twice
  taken[value] = 1;
  taken_count++
}

// A release of the owner's shows its stored tail. Without it a thief may find `real` past the tail.
inline release() {
#ifdef RELAXED_POP
  skip
#else
  tail = own_tail
#endif
}

// local_queue::push
inline push() {
  d_step { steal = steal_head; real = real_head }
#ifdef ROOM_BY_REAL
  no_room = BEHIND(own_tail, real) >= CAPACITY;
#else
  no_room = BEHIND(own_tail, steal) >= CAPACITY;
#endif
  if
  :: no_room
  :: else ->
#ifdef TAIL_FIRST
    d_step { own_tail = (own_tail + 1) % MODULUS; tail = own_tail }
    cells[SLOT(own_tail + MODULUS - 1)] = next_task;
#else
    cells[SLOT(own_tail)] = next_task;
    own_tail = (own_tail + 1) % MODULUS;
#endif
    next_task++
  fi
}

// local_queue::pop
inline pop() {
  d_step { steal = steal_head; real = real_head }
  do
  :: real == own_tail -> drained = 1; break
  :: else ->
    d_step {
      won = (steal_head == steal && real_head == real);
      if
      :: won && steal == real -> release(); steal_head = (real + 1) % MODULUS; real_head = steal_head
      :: won && steal != real -> release(); real_head = (real + 1) % MODULUS
      :: else -> steal = steal_head; real = real_head
      fi
    }
    if
    :: won -> d_step { take(real, cells[SLOT(real)]) } break
    :: else
    fi
  od
}

// local_queue::exchange_oldest: one look at the head serves the push and one attempt to pop
inline exchange_oldest() {
  d_step { steal = steal_head; real = real_head }
  no_room = BEHIND(own_tail, steal) >= CAPACITY;
  if
  :: no_room
  :: else ->
    cells[SLOT(own_tail)] = next_task;
    oldest = cells[SLOT(real)];
    own_tail = (own_tail + 1) % MODULUS;
    next_task++;
    d_step {
      won = (steal_head == steal && real_head == real);
      if
      :: won && steal == real -> release(); steal_head = (real + 1) % MODULUS; real_head = steal_head
      :: won && steal != real -> release(); real_head = (real + 1) % MODULUS
      :: else
      fi;
#ifdef BLIND_EXCHANGE
      won = 1
#endif
    }
    if
    :: won -> d_step { take(real, oldest); oldest = 0 }
    :: else -> oldest = 0
    fi
  fi
}

// local_queue::shed; the excess belongs to the injection queue from then on
inline shed() {
  d_step { steal = steal_head; real = real_head; count = BEHIND(own_tail, real) / 2 }
  d_step {
    won = (steal == real && steal_head == steal && real_head == real);
    if
    :: won -> release(); steal_head = (real + count) % MODULUS; real_head = steal_head
    :: else
    fi
  }
  do
  :: won && count > 0 -> d_step { take(real, cells[SLOT(real)]); real = (real + 1) % MODULUS; count-- }
  :: else -> break
  od
}

active proctype owner() {
  byte next_task = 1, steal, real, count, oldest;
  bit no_room, drained, won;
  do
  :: next_task <= TASKS ->
    push();
    if
    :: no_room -> shed()
    :: else
    fi
  :: next_task <= TASKS -> exchange_oldest()
  :: pop()
  :: next_task > TASKS -> break
  od;
  drained = 0;
  do
  :: drained -> break
  :: else -> pop()
  od
}

// The owner's stores of the tail reach the others one by one, each at its time.
active proctype memory() {
end:
  do
  :: d_step { tail != own_tail -> tail = (tail + 1) % MODULUS }
  od
}

// local_queue::steal
active[2] proctype thief() {
  byte first, steal, count, i, rounds;
  byte copy[CAPACITY];
  bit won;
  do
  :: rounds == THIEF_ROUNDS -> break
  :: else ->
    rounds++;
    d_step { steal = steal_head; first = real_head }
    won = 0;
    do
    :: won || steal != first -> break
    :: else ->
      d_step {
        count = (BEHIND(tail, first) + 1) % MODULUS / 2;
        if
        :: count > CAPACITY -> count = CAPACITY
        :: else
        fi
      }
      if
      :: count == 0 -> break
      :: else
      fi;
      d_step {
        won = (steal_head == steal && real_head == first);
        if
        :: won -> real_head = (first + count) % MODULUS;
#ifdef MOVE_BOTH
          steal_head = real_head
#endif
        :: else -> steal = steal_head; first = real_head
        fi
      }
    od;
    if
    :: won ->
      i = 0;
      do
      :: i < count -> d_step { copy[i] = cells[SLOT(first + i)]; i++ }
      :: else -> break
      od;
      assert(i == count);
#ifndef MOVE_BOTH
      d_step { assert(steal_head == first); steal_head = real_head } // the last CAS: no other moves `steal`
#endif
      d_step {
        do
        :: i > 0 -> i--; take((first + i) % MODULUS, copy[i]); copy[i] = 0
        :: else -> break
        od
      }
    :: else
    fi;
    d_step { first = 0; steal = 0; count = 0; i = 0 }
  od
}

active proctype monitor() {
  timeout -> assert(taken_count == TASKS && steal_head == real_head && real_head == own_tail)
}
