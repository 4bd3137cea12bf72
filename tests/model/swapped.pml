// One object that many threads read and one replaces (engine/src/rules/swapped.hpp): no thread looks into
// an object that is gone, and old objects go when no thread holds them.
//
// check: pass
// check: pass -DREADERS=1 -DROUNDS=3
// check: fail -DNO_READER_FENCE
// check: fail -DNO_REPLACER_FENCE
// check: fail -DNO_SECOND_LOOK
// check: fail -DKEEP_FOR_EVER
// check: fail -DNO_LAST_LOOK
//
// Readers take hold of the newest object, look into it, and let go, ROUNDS times; a reader that lets go of an
// old one reclaims. Plain stores lie in the thread's store buffer, in order, until a fence or any time that
// the memory likes.
//
// NO_READER_FENCE    H2 is missing: the reader looks again before others can see what it holds
// NO_REPLACER_FENCE  R2 is missing: the replacer looks at the holders before the new one can be seen
// NO_SECOND_LOOK     H3 is missing: the reader uses the object that was the newest when it began
// KEEP_FOR_EVER      a reader that lets go of an old one does not reclaim
// NO_LAST_LOOK       no thread reclaims once more when all have let go

#ifndef READERS
#define READERS 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define OBJECTS 3 // the first, and two that replace it
#define NONE OBJECTS
#define NEWEST READERS        // the word of the replacer, behind those of the readers
#define THREADS (READERS + 1) // a thread writes one word, its own

byte word[THREADS]; // what others see: held[reader], newest
bool gone[OBJECTS];
bool lock;
byte ended;
chan buffer[THREADS] = [2] of { byte };

proctype memory(byte t) {
end:
  do
  :: d_step { nempty(buffer[t]) -> buffer[t]?word[t] }
  od
}

inline fence(t) {
  empty(buffer[t])
}

// swapped::reclaim. `newest` is what the thread knows to be the newest: the replacer its own, another thread
// the one that it sees. The lock, which guards the list of old ones, shows both together.
inline reclaim(t, newest) {
  atomic { !lock -> lock = 1 }
#ifndef NO_REPLACER_FENCE
  fence(t); // R2
#endif
  o = 0;
  do
  :: o == newest -> break
  :: o < newest && !gone[o] ->
    i = 0;
    do
    :: i == READERS || word[i] == o -> break // R3
    :: else -> i++
    od;
    if
    :: i == READERS -> gone[o] = 1
    :: else
    fi;
    o++
  :: else -> o++
  od;
  atomic { o = 0; i = 0 }
  fence(t);
  lock = 0
}

proctype reader(byte me) {
  byte first, mine, newest, o, i, round;
  do
  :: round == ROUNDS -> break
  :: else ->
    first = NONE;
    do
    :: mine = word[NEWEST]; // H1
      if
      :: first == NONE -> first = mine
      :: else
      fi;
      buffer[me]!mine;
#ifndef NO_READER_FENCE
      fence(me); // H2
#endif
#ifndef NO_SECOND_LOOK
      if
      :: word[NEWEST] == mine -> break // H3
      :: else
      fi
#else
      break
#endif
    od;
    assert(!gone[mine]);
    assert(!gone[mine]); // it uses it for a while
    buffer[me]!NONE;
#ifndef KEEP_FOR_EVER
    if
    :: word[NEWEST] != first -> newest = word[NEWEST]; reclaim(me, newest)
    :: else
    fi;
#endif
    round++
  od;
  fence(me);
#if !defined(KEEP_FOR_EVER) && !defined(NO_LAST_LOOK)
  newest = word[NEWEST];
  reclaim(me, newest); // as the next reload, or a count, does: two that let go at once may have missed it
#endif
  ended++
}

// swapped::replace, by the thread that reloads
proctype replacer() {
  byte o, i, n;
  do
  :: n == OBJECTS - 1 -> break
  :: else ->
    n++;
    buffer[NEWEST]!n; // R1
    reclaim(NEWEST, n)
  od;
  fence(NEWEST);
  ended++
}

proctype monitor() {
  byte o;
  timeout -> assert(ended == READERS + 1);
  d_step {
    do
    :: o < OBJECTS - 1 -> assert(gone[o]); o++
    :: else -> break
    od;
    assert(!gone[OBJECTS - 1])
  }
}

init {
  byte t;
  atomic {
    do
    :: t < READERS -> word[t] = NONE; run memory(t); run reader(t); t++
    :: t == READERS -> run memory(t); run replacer(); t++
    :: else -> break
    od;
    run monitor()
  }
}
