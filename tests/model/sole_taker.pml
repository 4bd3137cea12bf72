// Taking from the ring of an engine's only worker (engine/src/queues/sole_taker.hpp). The worker takes by
// loads and stores. When the engine has ended, the thread that destroys the queued tasks takes by
// compare-and-swap.
//
// check: pass
// check: pass -DSHARERS=2 -DTASKS=3
// check: fail -DNO_BARRIER
// check: fail -DNO_WAIT
// check: fail -DASK_AFTERWARDS
// check: fail -DLOOK_FIRST
// check: fail -DLEAVE_FIRST
//
// The ring is its head, a number: the next task. The worker's plain stores lie in a buffer and become visible
// late, in order; it reads its own. Its compare-and-swap empties the buffer first, and so does the barrier.
//
// NO_BARRIER      the sharer trusts its own order
// NO_WAIT         the sharer does not wait until the worker has left
// ASK_AFTERWARDS  the sharer makes the barrier before it asks
// LOOK_FIRST      the worker looks whether others take before it enters
// LEAVE_FIRST     the worker leaves before it has moved the head

#ifndef SHARERS
#define SHARERS 1
#endif
#ifndef TASKS
#define TASKS 4
#endif

#define NONE 0
#define ASKED 1
#define COME 2

byte head;     // what others see
byte own_head; // the worker's last store, while it is alone
byte others = NONE;
bool inside;   // what others see
bool taken[TASKS];
byte taken_count;
chan stores = [4] of {bit, byte}; // 0: inside, 1: head

inline take(t) {
  d_step {
    assert(!taken[t]); // else: taken twice
    taken[t] = 1;
    taken_count++
  }
}

inline empty_buffer() {
  do
  :: nempty(stores) ->
    stores?which, value;
    if
    :: which == 0 -> inside = value
    :: else -> head = value
    fi
  :: empty(stores) -> break
  od
}

// The machine: the oldest store becomes visible.
active proctype memory() {
  bit which;
  byte value;
end:
  do
  :: d_step {
       nempty(stores) ->
       stores?which, value;
       if
       :: which == 0 -> inside = value
       :: else -> head = value
       fi
     }
  od
}

active proctype worker() {
  byte at, value;
  bit which;
  bool alone; // and whether it has the task
  do
  :: taken_count < TASKS ->
    d_step { at = (own_head > head -> own_head : head) } // of its own stores it sees the last
    if
    :: at == TASKS
    :: else ->
#ifdef LOOK_FIRST
      alone = others == NONE;
      stores!0, 1;
      if
      :: !alone -> stores!0, 0
      :: else
      fi;
#else
      if
      :: others == NONE ->
        stores!0, 1;            // T1
        alone = others == NONE; // T2
        if
        :: !alone -> stores!0, 0
        :: else
        fi
      :: else -> alone = 0
      fi;
#endif
      if
      :: alone -> // T3, T4
#ifdef LEAVE_FIRST
        stores!0, 0;
#endif
        own_head = at + 1;
        stores!1, at + 1;
#ifndef LEAVE_FIRST
        stores!0, 0;
#endif
        take(at)
      :: else ->
        d_step {
          empty_buffer();
          alone = head == at;
          if
          :: alone -> head = at + 1
          :: else
          fi
        }
        if
        :: alone -> take(at)
        :: else
        fi
      fi
    fi
  :: else -> break
  od
}

active [SHARERS] proctype sharer() {
  byte at;
  byte value;
  bit which;
  if
  :: others != COME ->
#ifdef ASK_AFTERWARDS
    d_step { empty_buffer() } // S2
    others = ASKED;           // S1
#else
    others = ASKED; // S1
#ifndef NO_BARRIER
    d_step { empty_buffer() } // S2
#endif
#endif
#ifndef NO_WAIT
    !inside; // S3
#endif
    others = COME // S4
  :: else
  fi;
  do
  :: at = head;
    if
    :: at >= TASKS -> break
    :: else ->
      if
      :: atomic { head == at -> head = at + 1 } take(at)
      :: head != at
      fi
    fi
  od
}

active proctype monitor() {
  timeout -> assert(taken_count == TASKS)
}
