// Tasks that one thread writes into segments of an injection queue (engine/src/queues/task_segment.hpp,
// segment_writer.hpp, injection_queue.hpp), while other threads take them. Each task is taken once and in
// order, each segment is destroyed once, no thread touches it afterwards, and in a queue of size 0 nothing
// waits.
//
// check: pass
// check: pass -DTAKERS=1 -DTASKS=5 -DCELLS=3
// check: pass -DSEGMENTS=3
// check: pass -DREFUSED
// check: pass -DCOUNTED
// check: fail -DLEAVE_STORE
// check: fail -DLEAVE_BLIND
// check: fail -DLEAVE_ENDED
// check: fail -DLEAVE_UNLOCKED
// check: fail -DLEAVE_LISTED
// check: fail -DDESTROY_LEFT
// check: fail -DNEXT_LATE
// check: fail -DREAD_LATE
// check: fail -DREAD_EARLY
// check: fail -DEMPTY_STAYS
// check: fail -DWRITE_STORE
// check: fail -DWRITE_RELAXED
// check: fail -DEND_STORE
// check: fail -DEND_BLIND
// check: fail -DFULL_OPEN
// check: fail -DFULL_TOUCHED
// check: fail -DKEEP_LEFT
// check: fail -DNO_FENCE
// check: fail -DPUT_AS_ONE
// check: fail -DPUT_LATE
// check: fail -DCOUNT_FIRST
// check: fail -DCOUNT_ALL
// check: fail -DCOUNT_NO_ROOM
// check: fail -DCOUNT_UNLOCKED
// check: fail -DSIZE_BACKWARDS
//
// The writer puts in TASKS tasks, and ends its segment whenever it likes, as if it went to another queue and
// came back. Takers look at the size and take one task or two, for ever. When the writer has ended and the
// takers rest, one more thread looks: as long as there is a size it finds a task, and then everything is
// gone. There is memory for SEGMENTS segments, and a destroyed one is used again at once; while there is
// none, the writer puts in the task itself. With REFUSED takers may have no memory for a task, with COUNTED
// they count as well. Stores that other threads read without a lock, and those that unlock, lie in the
// thread's store buffer until a fence or a read-modify-write, or as long as the memory likes; a word that is
// read behind a lock only is written at once.
//
// LEAVE_STORE      a taker leaves a segment by a store: it does not ask whether a task has come meanwhile
// LEAVE_BLIND      leave does not look whether there is a task
// LEAVE_ENDED      leave does not look whether the segment was ended: it relies on its writer, which has
//                  forgotten it
// LEAVE_UNLOCKED   leave does not take the lock of the back, which guards the list of segments
// LEAVE_LISTED     a segment that is gone stays in the list of segments
// DESTROY_LEFT     the taker destroys a segment that it has only left
// NEXT_LATE        the taker asks the segment for its successor after it has left it
// READ_LATE        the taker reads the last task after it has left the segment (tag *left* weakened)
// READ_EARLY       a taker reads the next task before it has asked whether it is there (tag *put* weakened)
// EMPTY_STAYS      a segment stays, empty, when its last task was the last that the taker wanted
// WRITE_STORE      the writer shows a task by a store: it does not ask whether its segment was left
// WRITE_RELAXED    the CAS that shows a task publishes nothing (tag *put* weakened)
// END_STORE        the writer ends its segment by a store
// END_BLIND        the writer that ends its segment does not ask whether it was left
// FULL_OPEN        the writer does not end a full segment, but forgets it
// FULL_TOUCHED     the writer looks at a segment again that it has filled
// KEEP_LEFT        the writer forgets a segment that was left
// NO_FENCE         a task counts as put before others can see it
// PUT_AS_ONE       a segment counts as the one task that is in it when it comes
// PUT_LATE         it is counted after the lock is open
// COUNT_FIRST      the size is reduced by a segment's room before it is known that the segment was left
// COUNT_ALL        of a segment that is gone all cells are counted, also those whose tasks were counted
//                  before
// COUNT_NO_ROOM    the segment's room is not counted
// COUNT_UNLOCKED   the taken tasks are counted after the lock is open
// SIZE_BACKWARDS   size reads first how many were put, then how many were taken

#ifndef TAKERS
#define TAKERS 2
#endif
#ifndef TASKS
#define TASKS 3
#endif
#ifndef CELLS
#define CELLS 2
#endif
#ifndef SEGMENTS
#define SEGMENTS 2
#endif

#define WRITER TAKERS
#define LAST (TAKERS + 1) // the thread that looks in the end
#define THREADS (TAKERS + 2)

// A place in a list: a task by its number, or a segment.
#define PLACE(segment) (TASKS + 1 + (segment))
#define SEGMENT(place) ((place) - TASKS - 1)
#define PLACES (TASKS + 1 + SEGMENTS)
#define NULL 0

// A segment's state: how many were put in, and
#define ENDED 64
#define ABANDONED 128
#define COUNT(state) ((state) & 63)

// Words that are written through the buffers: the cells, and
#define FRONT_PASSED (SEGMENTS * CELLS)
#define BACK_PASSED (FRONT_PASSED + 1)
#define FRONT_LOCK (FRONT_PASSED + 2)
#define BACK_LOCK (FRONT_PASSED + 3)
#define WORDS (FRONT_PASSED + 4)

byte word[WORDS];
chan buffer[THREADS] = [4] of { byte, byte };

// Segments; all fields of a destroyed one are 0.
bool live[SEGMENTS];
byte state[SEGMENTS];
byte taken_of[SEGMENTS];
byte known_of[SEGMENTS];
byte next_segment[SEGMENTS]; // a place

byte next[PLACES];
byte front_first, front_last, front_size;
byte back_first, back_last, back_size;
byte first_segment, last_segment; // places

byte begun; // tasks, by the writer
byte put;   // and behind them a fence
byte taken;
byte inside; // takers
bool written, over;

proctype memory(byte t) {
  byte where, value;
end:
  do
  :: d_step {
      buffer[t]?where, value ->
      assert(where >= FRONT_PASSED || live[where / CELLS]);
      word[where] = value;
      where = 0;
      value = 0
    }
  od
}

inline store(thread, where, value) { buffer[thread]!where, value }
inline lock(thread, which) { atomic { len(buffer[thread]) == 0 && word[which] == 0 -> word[which] = 1 } }
inline unlock(thread, which) { store(thread, which, 0) }

// Memory that changes hands shows all stores to it.
inline destroy(thread, s) {
  atomic {
    len(buffer[thread]) == 0;
    d_step {
      assert(live[s]);
      live[s] = 0;
      state[s] = 0;
      taken_of[s] = 0;
      known_of[s] = 0;
      next_segment[s] = NULL;
      next[PLACE(s)] = NULL;
      i = 0;
      do
      :: i < CELLS -> word[s * CELLS + i] = 0; i++
      :: else -> break
      od;
      i = 0
    }
  }
}

// task_segment::make; SEGMENTS: no memory
inline make() {
  atomic {
    d_step {
      open = 0;
      do
      :: open < SEGMENTS && live[open] -> open++
      :: else -> break
      od;
      if
      :: open < SEGMENTS -> live[open] = 1; state[open] = 1; known_of[open] = 1; at = 1
      :: else
      fi
    }
    if
    :: open < SEGMENTS -> store(WRITER, open * CELLS, begun)
    :: else
    fi
  }
}

// injection_queue::push of the made segment, or of the task
inline push() {
  lock(WRITER, BACK_LOCK);
  d_step {
    place = (open < SEGMENTS -> PLACE(open) : begun);
    assert(next[place] == NULL);
    if
    :: back_last == NULL -> back_first = place
    :: else -> assert(back_last <= TASKS || live[SEGMENT(back_last)]); next[back_last] = place
    fi;
    back_last = place;
    back_size++;
    if
    :: open == SEGMENTS
    :: open < SEGMENTS && last_segment == NULL -> first_segment = place; last_segment = place
    :: else ->
      assert(live[SEGMENT(last_segment)]);
      next_segment[SEGMENT(last_segment)] = place;
      last_segment = place
    fi;
    place = NULL
  }
#ifdef PUT_LATE
  unlock(WRITER, BACK_LOCK);
#endif
#ifdef PUT_AS_ONE
  store(WRITER, BACK_PASSED, word[BACK_PASSED] + 1);
#else
  store(WRITER, BACK_PASSED, word[BACK_PASSED] + (open < SEGMENTS -> CELLS : 1));
#endif
#ifndef PUT_LATE
  unlock(WRITER, BACK_LOCK)
#endif
}

// The writer's CAS of the state
inline exchange_state(to) {
  atomic {
#ifndef WRITE_RELAXED
    len(buffer[WRITER]) == 0;
#endif
    assert(live[open]);
    won = state[open] == at;
    if
    :: won -> state[open] = to
    :: else -> assert(state[open] == (at | ABANDONED))
    fi
  }
}
inline store_state(to) {
  atomic { len(buffer[WRITER]) == 0; assert(live[open]); state[open] = to; won = 1 }
}

// injection_queue::end; its lock keeps out a taker that leaves, which is left out here
inline end_segment() {
#ifdef END_STORE
  store_state(at | ENDED);
#else
  exchange_state(at | ENDED);
#endif
  if
  :: won
  :: else ->
#ifndef END_BLIND
    destroy(WRITER, open)
#endif
  fi;
  d_step { open = SEGMENTS; at = 0; won = 0 }
}

// segment_writer::write
#ifdef FULL_OPEN
#define AFTER (at + 1)
#else
#define AFTER (at + 1 == CELLS -> CELLS | ENDED : at + 1)
#endif
inline write() {
  store(WRITER, open * CELLS + at, begun);
#ifdef WRITE_STORE
  store_state(AFTER);
#else
  exchange_state(AFTER);
#endif
#ifdef FULL_TOUCHED
  assert(!won || live[open]);
#endif
  if
  :: won ->
    d_step {
      at++;
      if
      :: at == CELLS -> open = SEGMENTS; at = 0
      :: else
      fi
    }
  :: else ->
#ifndef KEEP_LEFT
    destroy(WRITER, open);
#endif
    d_step { open = SEGMENTS; at = 0 }
  fi
}

// segment_writer
proctype writer() {
  byte open = SEGMENTS; // none
  byte at, place, i;
  bool won;
  do
  :: open < SEGMENTS -> end_segment() // it goes elsewhere, or ends
  :: begun < TASKS ->
    begun++;
    if
    :: open < SEGMENTS -> write()
    :: else
    fi;
    if
    :: won -> won = 0
    :: else -> make(); push()
    fi;
    atomic {
#ifndef NO_FENCE
      len(buffer[WRITER]) == 0;
#endif
      put++
    }
  :: begun == TASKS && open == SEGMENTS -> break
  od;
  atomic { len(buffer[WRITER]) == 0; written = 1 }
}

// injection_queue::size, into `size`. 0: all that had been put when it began had been taken.
inline look() {
#ifdef SIZE_BACKWARDS
  size = word[BACK_PASSED];
  d_step { seen = word[FRONT_PASSED]; assert(size >= seen); size = size - seen; seen = 0 }
#else
  d_step { seen = word[FRONT_PASSED]; waits = put > taken }
  d_step { size = word[BACK_PASSED]; assert(size >= seen); size = size - seen; seen = 0 }
#endif
  d_step { assert(size != 0 || !waits); waits = 0 }
}

inline arrive(task) {
  d_step { assert(task == taken + 1); taken++ }
}

// task_segment::pop; `got`: it gave a task. The number that it knows of is read with the state.
inline pop() {
  d_step {
    assert(live[s]);
    if
    :: taken_of[s] == known_of[s] -> known_of[s] = COUNT(state[s])
    :: else
    fi;
    got = taken_of[s] != known_of[s]
  }
  if
  :: got -> read_cell()
#ifdef REFUSED
  :: got && me != LAST -> got = 0
#endif
  :: !got
  fi
}
#ifdef READ_LATE
inline read_cell() { read_late(); d_step { late = s * CELLS + taken_of[s] + 1; taken_of[s]++ } }
inline read_late() {
  if
  :: late != 0 -> d_step { arrive(word[late - 1]); late = 0 }
  :: else
  fi
}
#else
inline read_cell() {
  d_step {
    assert(live[s]);
#ifdef READ_EARLY
    early = (peeked -> early : word[s * CELLS + taken_of[s]]);
    arrive(early);
    early = 0;
    peeked = 0;
#else
    arrive(word[s * CELLS + taken_of[s]]);
#endif
    taken_of[s]++
  }
}
#endif

// task_segment::try_abandon: the CAS, and again where it fails
inline abandon() {
  atomic {
#ifdef LEAVE_STORE
    won = 1;
#else
    won = state[s] == seen;
#endif
    if
    :: won -> state[s] = seen | ABANDONED
    :: else -> seen = state[s]
    fi
  }
}

// injection_queue::leave; `some`: a task has come
inline leave() {
#ifndef LEAVE_UNLOCKED
  lock(me, BACK_LOCK);
#endif
  d_step {
    assert(live[s] && front_first == PLACE(s));
    behind = next[PLACE(s)];
    behind_segment = next_segment[s]
  }
  d_step { assert(live[s]); seen = state[s] }
  do
#ifndef LEAVE_BLIND
  :: !won && COUNT(seen) != taken_of[s] -> some = 1; break
#endif
#ifndef LEAVE_ENDED
  :: !won && COUNT(seen) == taken_of[s] && (seen & ENDED) != 0 -> destroy(me, s); break
#endif
  :: won -> break
  :: else -> abandon()
  od;
  assert(!(some && won));
#ifdef DESTROY_LEFT
  if
  :: won -> destroy(me, s)
  :: else
  fi;
#endif
#ifdef NEXT_LATE
  if
  :: won -> d_step { assert(live[s]); behind = next[PLACE(s)] }
  :: else
  fi;
#endif
  d_step {
    if
    :: some
    :: else ->
      front_first = behind;
      if
      :: behind == NULL -> front_last = NULL
      :: else
      fi;
      front_size--;
#ifndef LEAVE_LISTED
      first_segment = behind_segment;
      if
      :: behind_segment == NULL -> last_segment = NULL
      :: else
      fi
#endif
    fi;
    behind = NULL;
    behind_segment = NULL;
    seen = 0;
    won = 0
  }
#ifndef LEAVE_UNLOCKED
  unlock(me, BACK_LOCK)
#endif
}

inline append() {
  d_step {
    if
    :: back_first == NULL
    :: else ->
      if
      :: front_last == NULL -> front_first = back_first
      :: else -> assert(front_last <= TASKS || live[SEGMENT(front_last)]); next[front_last] = back_first
      fi;
      front_last = back_last;
      front_size = front_size + back_size;
      back_first = NULL;
      back_last = NULL;
      back_size = 0
    fi
  }
}

inline take_plain() {
  d_step {
    arrive(front_first);
    s = front_first;
    front_first = next[s];
    next[s] = NULL;
    if
    :: front_first == NULL -> front_last = NULL
    :: else
    fi;
    front_size--;
    out++;
    s = 0
  }
}

inline take_from_segment() {
  s = SEGMENT(front_first);
  pop();
  if
  :: !got -> refused = 1
  :: else ->
#ifdef READ_EARLY
    d_step {
      peeked = out + 1 < most && taken_of[s] == known_of[s] && taken_of[s] < CELLS;
      early = word[s * CELLS + (peeked -> taken_of[s] : 0)];
      early = (peeked -> early : 0)
    }
#endif
    d_step { // task_segment::empty
      out++;
      assert(live[s]);
      got = COUNT(state[s]) != taken_of[s];
#ifdef EMPTY_STAYS
      got = got || out == most;
#endif
      skip
    }
    if
    :: got
    :: else ->
      d_step {
        assert(live[s]);
#ifdef READ_EARLY
        peeked = 0;
        early = 0;
#endif
#ifdef COUNT_ALL
        room_here = CELLS;
#else
        room_here = CELLS - taken_of[s];
#endif
#ifdef COUNT_NO_ROOM
        room_here = 0;
#endif
        skip
      }
#ifdef COUNT_FIRST
      store(me, FRONT_PASSED, base + out + room + room_here);
#endif
      leave();
#ifdef COUNT_FIRST
      if
      :: some -> store(me, FRONT_PASSED, base + out + room)
      :: else
      fi;
#endif
#ifdef READ_LATE
      read_late();
#endif
      d_step { room = (some -> room : room + room_here); room_here = 0; some = 0 }
    fi
  fi;
  d_step { s = 0; got = 0 }
}

// injection_queue::take; `out` were taken
inline take() {
  lock(me, FRONT_LOCK);
  if
  :: front_size < most -> lock(me, BACK_LOCK); append(); unlock(me, BACK_LOCK)
  :: else
  fi;
#ifdef COUNT_FIRST
  base = word[FRONT_PASSED];
#endif
  do
  :: refused || out == most || front_first == NULL -> break
  :: else ->
    if
    :: front_first <= TASKS -> take_plain()
    :: else -> take_from_segment()
    fi
  od;
#ifdef READ_LATE
  read_late();
#endif
#ifdef COUNT_UNLOCKED
  unlock(me, FRONT_LOCK);
#endif
#ifdef COUNT_FIRST
  store(me, FRONT_PASSED, base + out + room);
  base = 0;
#else
  store(me, FRONT_PASSED, word[FRONT_PASSED] + out + room);
#endif
#ifndef COUNT_UNLOCKED
  unlock(me, FRONT_LOCK);
#endif
  d_step { refused = 0; room = 0; most = 0 }
}

// injection_queue::count
inline count() {
  lock(me, FRONT_LOCK);
  lock(me, BACK_LOCK);
  d_step { seen = put; size = word[BACK_PASSED] - word[FRONT_PASSED]; s = first_segment }
  do
  :: s == NULL -> break
  :: else ->
    d_step {
      assert(live[SEGMENT(s)]);
      size = size - (CELLS - COUNT(state[SEGMENT(s)]));
      s = next_segment[SEGMENT(s)]
    }
  od;
  assert(taken + size >= seen && taken + size <= begun);
  d_step { seen = 0; size = 0 }
  unlock(me, BACK_LOCK);
  unlock(me, FRONT_LOCK)
}

#if defined(READ_LATE)
#define MUTANT_TAKES ; byte late
#elif defined(READ_EARLY)
#define MUTANT_TAKES ; byte early; bool peeked
#elif defined(COUNT_FIRST)
#define MUTANT_TAKES ; byte base
#else
#define MUTANT_TAKES
#endif
#define TAKES \
  byte size, seen, most, out, room, room_here, s, i, behind, behind_segment; \
  bool waits, got, some, won, refused MUTANT_TAKES

proctype taker(byte me) {
  TAKES;
end:
  do
  :: atomic { !over -> inside++ }
    look();
    if
    :: size != 0 ->
      if
      :: most = 1
      :: most = 2
      fi;
      take()
    :: else
    fi;
    d_step { size = 0; out = 0; inside-- }
#ifdef COUNTED
  :: atomic { !over -> inside++ }
    count();
    inside--
#endif
  od
}

#define RESTS(thread) (len(buffer[thread]) == 0)

// When the writer has ended and the takers rest
proctype last_look(byte me) {
  TAKES;
  atomic { written && inside == 0 && RESTS(0) && RESTS(TAKERS - 1) && RESTS(WRITER) -> over = 1 }
  look();
  do
  :: size == 0 -> break
  :: else ->
    out = 0;
    most = 2;
    take();
    assert(out != 0);
    RESTS(LAST);
    look()
  od;
  assert(taken == TASKS);
  d_step {
    assert(front_first == NULL && back_first == NULL && first_segment == NULL && last_segment == NULL);
    do
    :: i < SEGMENTS -> assert(!live[i]); i++
    :: else -> break
    od
  }
}

init {
  byte t;
  atomic {
    do
    :: t < TAKERS -> run memory(t); run taker(t); t++
    :: else -> break
    od;
    run memory(WRITER);
    run writer();
    run memory(LAST);
    run last_look(LAST)
  }
}
