// Destroying a coroutine that is suspended when its engine ends
// (engine/include/corewise/engine/detail/suspension.hpp; suspended_table.cpp: withdraw, forget; dropping.cpp).
//
// check: pass
// check: pass -DRUNS
// check: fail -DDESTROYED_UNASKED
// check: fail -DFREED_UNLOCKED
// check: fail -DWITHDRAWN_UNLOCKED
// check: fail -DLEFT_IN_SLOT
// check: fail -DRUNS -DNOT_WAITED
// check: fail -DWAKER_UNAWAITED
// check: fail -DUNANNOUNCED
//
// A coroutine waits for something, whose list is a word here, and has an entry in the table of its engine. A
// thread from outside wakes it: takes it out of the list, and queues it with the engine. The engine ends: it
// looks at the entry and withdraws that coroutine from the list. A coroutine that is queued once the engine
// has ended is destroyed by the thread that takes it: the engine's end or the thread that queued it. The
// thing that the coroutine waits for goes when its frame goes, not before.
//
// DESTROYED_UNASKED    the end destroys the coroutine in the entry without taking it out of the list
// FREED_UNLOCKED       the thread that destroys a frame frees its entry without the lock
// WITHDRAWN_UNLOCKED   the end looks at the entry and withdraws in two steps, without the lock
// LEFT_IN_SLOT         the thread that destroys a frame leaves it in its entry
//
// The engine's memory goes when its end is through. Until then the waker may use it: the end waits until no
// entry is taken, and then until the waker, which has announced itself, has left.
//
// WAKER_UNAWAITED      the end does not wait until no entry is taken
// UNANNOUNCED          the waker does not announce itself
//
// With RUNS a thread of the engine is still in a task; it may resume a queued coroutine, and then frees the
// entry without a lock.
//
// NOT_WAITED           the end does not wait for that thread

bool in_list = 1;
bool in_slot = 1;
bool queued;
bool lock;
#ifdef RUNS
bool running = 1; // a thread of the engine
#else
bool running;
#endif
bool ending;  // its threads look at no queue any more
bool waking;  // the waker has announced itself
bool engine_gone;
byte gone;    // how often the coroutine's frame has gone, by its end or before

inline touch() { assert(gone == 0) }

inline take_lock() { d_step { !lock -> lock = 1 } }

// suspended_table::forget, and the rest of the frame
inline destroy() {
  touch();
#ifdef FREED_UNLOCKED
  in_slot = 0;
#else
#ifndef LEFT_IN_SLOT
  take_lock();
  in_slot = 0;
  lock = 0;
#endif
#endif
  gone++;
  assert(gone == 1)
}

inline drop_queued() {
  d_step { mine = queued; queued = 0 }
  if
  :: mine -> destroy()
  :: else
  fi
}

active proctype wakes() {
  bool mine;
  d_step { mine = in_list; in_list = 0 }
  if
  :: mine ->
    touch(); // resumption::wake reads which engine it belongs to
    assert(!engine_gone);
#ifndef UNANNOUNCED
    waking = 1;
#endif
    queued = 1;
    assert(!engine_gone);
    if
    :: ending -> drop_queued()
    :: else // the engine's threads, or its end, come for it
    fi;
    assert(!engine_gone);
    waking = 0
  :: else
  fi
}

active proctype end_of_engine() {
  bool mine, seen;
  ending = 1;
#ifndef NOT_WAITED
  !running;
#endif
  drop_queued();
#ifdef WITHDRAWN_UNLOCKED
  seen = in_slot;
  if
  :: seen ->
    touch(); // what it waits for
    d_step { mine = in_list; in_list = 0 }
    if
    :: mine -> in_slot = 0
    :: else
    fi
  :: else -> mine = 0
  fi;
#else
  take_lock();
  seen = in_slot;
  mine = 0;
  if
  :: seen ->
#ifdef DESTROYED_UNASKED
    mine = 1;
#else
    touch();
    d_step { mine = in_list; in_list = 0 }
#endif
    if
    :: mine -> in_slot = 0
    :: else
    fi
  :: else
  fi;
  lock = 0;
#endif
  if
  :: mine ->
    touch();
    gone++;
    assert(gone == 1)
  :: else
  fi;
  drop_queued();
#ifndef WAKER_UNAWAITED
  do
  :: !in_slot -> break
  :: in_slot && queued -> drop_queued()
  od;
#endif
  !waking;
  engine_gone = 1
}

#ifdef RUNS
// A thread of the engine in its last task. It may resume the coroutine, which ends.
active proctype runs() {
  bool mine;
  d_step { mine = queued; queued = 0 }
  if
  :: mine -> touch(); in_slot = 0; gone++; assert(gone == 1)
  :: else
  fi;
  running = 0
}
#endif

active proctype monitor() {
  timeout -> assert(gone == 1 && !in_slot)
}
