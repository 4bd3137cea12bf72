// The unbounded inbox (engine/src/queues/unbounded_inbox.hpp) and a consumer that parks (wake_ups.hpp, where
// workers do not steal): each task arrives once, in its producer's order, and the consumer does not sleep
// while one is there.
//
// check: pass
// check: pass -DPRODUCERS=3 -DTASKS=1
// check: pass -DPRODUCERS=1 -DTASKS=4
// check: fail -DTRUST_EMPTY
// check: fail -DNO_FENCE
// check: fail -DNO_LAST_LOOK
// check: fail -DEND_RELAXED
// check: fail -DNO_STUB
//
// A producer exchanges `last` and then links the task before: in between the list is cut, and the owner sees
// its end there, although complete tasks of other producers may lie behind it. Stores of `next` lie in the
// thread's store buffer until a fence or a read-modify-write; a thread sees its own when all do, which only
// makes the owner see less.
//
// TRUST_EMPTY   a producer looks for the sleeper between its exchange and its link: tasks that the owner
//               cannot reach at the cut count as announced
// NO_FENCE      P2 is missing: the producer looks for the sleeper before its link can be seen
// NO_LAST_LOOK  the owner does not look again after it has said that it parks
// END_RELAXED   the exchange of `last` publishes nothing (tag *end* weakened): a task's null may be seen
//               after the link to its successor, and overwrite it
// NO_STUB       the owner takes the last task without putting the stub behind it

#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef TASKS
#define TASKS 2
#endif
#define ALL (PRODUCERS * TASKS)
#define OWNER PRODUCERS
#define STUB ALL
#define NONE 255

byte next[ALL + 1] = NONE;
byte last = STUB;
bool parked;
bool token;
byte arrived;
byte expected[PRODUCERS]; // the next task of each producer

chan buffer[PRODUCERS + 1] = [3] of { byte, byte }; // stores of `next`: of which task, and the value

proctype memory(byte t) {
  byte node, value;
end:
  do
  :: d_step { buffer[t]?node, value -> next[node] = value; node = 0; value = 0 }
  od
}

// unbounded_inbox::link, in two parts
inline exchange_end(thread, node) {
  buffer[thread]!node, NONE;
  atomic {
#ifndef END_RELAXED
    empty(buffer[thread]);
#endif
    before = last;
    last = node
  }
}
inline link_before(thread, node) {
  buffer[thread]!before, node;
  before = 0
}

// wake_ups::notify_pushed
inline notify_pushed(thread) {
#ifndef NO_FENCE
  empty(buffer[thread]); // P2
#endif
  if
  :: !parked
  :: else ->
    d_step { // the claim
      won = parked;
      parked = 0
    }
    if
    :: won -> token = 1
    :: else
    fi;
    won = 0
  fi
}

proctype producer(byte me) {
  byte n, before;
  bool won;
  do
  :: n == TASKS -> break
  :: else ->
    exchange_end(me, me * TASKS + n);
#ifdef TRUST_EMPTY
    notify_pushed(me);
    link_before(me, me * TASKS + n);
#else
    link_before(me, me * TASKS + n);
    notify_pushed(me);
#endif
    n++
  od
}

// unbounded_inbox::pop; `got` is the task or NONE
inline pop() {
  got = NONE;
  second = next[first];
  if
  :: first == STUB && second == NONE -> goto popped
  :: first == STUB && second != NONE -> first = second; second = next[first]
  :: else
  fi;
  if
  :: second != NONE
  :: else ->
    if
    :: last != first -> goto popped // a producer is about to link
    :: else
    fi;
#ifdef NO_STUB
    d_step { got = first; first = STUB; last = STUB; next[STUB] = NONE }
    goto popped;
#endif
    exchange_end(OWNER, STUB);
    link_before(OWNER, STUB);
    second = next[first];
    if
    :: second == NONE -> goto popped // another one came between
    :: else
    fi
  fi;
  d_step { got = first; first = second }
popped:
  second = 0
}

// ready, a word at a time
inline look() {
  seen = next[first] != NONE;
  if
  :: seen || first == STUB
  :: else -> seen = last == first
  fi
}

// idle_workers::park
inline park() {
  atomic { empty(buffer[OWNER]) -> parked = 1 } // W1, W2
#ifdef NO_LAST_LOOK
  seen = 0;
#else
  look(); // W3
#endif
  d_step {
    won = seen && parked;
    if
    :: won -> parked = 0
    :: else
    fi;
    seen = 0
  }
  if
  :: won
  :: else ->
end_asleep:
    d_step { token -> token = 0 } // W4
  fi;
  won = 0
}

proctype owner() {
  byte first = STUB, second, before, got;
  bool seen, won;
again:
  pop();
  if
  :: got != NONE ->
    d_step {
      assert(got < ALL);
      assert(expected[got / TASKS] == got % TASKS);
      expected[got / TASKS]++;
      arrived++;
      got = 0
    }
  :: else -> park()
  fi;
  goto again
}

active proctype monitor() {
  timeout -> assert(arrived == ALL)
}

init {
  byte t;
  atomic {
    do
    :: t < PRODUCERS -> run memory(t); run producer(t); t++
    :: else -> break
    od;
    run memory(OWNER);
    run owner()
  }
}
