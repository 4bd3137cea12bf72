// A coroutine that waits for several things and gets one (engine/include/corewise/engine/detail/race.hpp,
// select.hpp; waiter_list.hpp: pop; channel.hpp: put, take).
//
// check: pass -DPERMITS
// check: pass -DFACING
// check: pass -DFACING -DSAME
// check: fail -DPERMITS -DUNCLAIMED
// check: fail -DPERMITS -DCLAIMED_LATE
// check: fail -DPERMITS -DNO_MEETING
// check: fail -DPERMITS -DSENT_BACK_UNCLAIMED
// check: fail -DPERMITS -DLEFT_IN_LIST
// check: fail -DFACING -DNOT_LOOKED
//
// With PERMITS one race waits for a permit of either of two semaphores. Two threads release one permit each.
// With FACING two races send on one channel and receive from another, which have no room; with SAME the two
// channels are one, so that each race finds its own other part there. Then both go on. A channel is its two
// lists here: a sender and a receiver for each race. A lock is a d_step.
//
// UNCLAIMED             a waker does not claim the race
// CLAIMED_LATE          a waker takes the permit before it claims, and keeps it when another part has won
// NO_MEETING            a waker resumes the coroutine at once, though that still enters other lists
// SENT_BACK_UNCLAIMED   a race that finds something ready does not claim itself before it leaves the lists
// LEFT_IN_LIST          a race that goes on leaves its other parts in their lists
// NOT_LOOKED            a race enters a list without a look at whether something is there by now

#define NONE 255
#define SELF 9

#ifdef PERMITS

byte permits[2];
bool in_list[2];
byte winner = NONE;
bool met;
bool entering;
byte resumed;
bool ended;
byte got = NONE;

inline resume() {
  resumed++;
  assert(resumed == 1 && !entering)
}

proctype releases(byte i) {
  bool mine;
#ifdef CLAIMED_LATE
  bool seen;
  d_step { seen = in_list[i]; in_list[i] = 0; permits[i] = permits[i] + !seen }
  if
  :: seen -> d_step { mine = winner == NONE; if :: mine -> winner = i :: else fi }
  :: else
  fi;
#else
  d_step {
    if
    :: in_list[i] ->
      in_list[i] = 0;
      assert(!ended);
#ifdef UNCLAIMED
      mine = 1;
      winner = i
#else
      if
      :: winner == NONE -> winner = i; mine = 1
      :: else -> permits[i]++
      fi
#endif
    :: else -> permits[i]++
    fi
  }
#endif
  if
  :: mine ->
    assert(!ended);
#ifdef NO_MEETING
    resume()
#else
    d_step { mine = met; met = 1 }
    if
    :: mine -> resume()
    :: else
    fi
#endif
  :: else
  fi
}

// A frame that has gone on
inline go_on(i) {
  got = i;
#ifndef LEFT_IN_LIST
  d_step { in_list[0] = 0 }
  d_step { in_list[1] = 0 }
#endif
  ended = 1
}

active proctype race() {
  byte i;
  bool ready, came;
  byte taken = NONE;
  run releases(0);
  run releases(1);
again:
  i = 0;
  do
  :: i < 2 && taken == NONE -> d_step { if :: permits[i] > 0 -> permits[i]--; taken = i :: else fi; i++ }
  :: else -> break
  od;
  if
  :: taken != NONE -> goto done
  :: else
  fi;
  winner = NONE;
  entering = 1;
  ready = 0;
  i = 0;
  do
  :: i < 2 && !ready ->
    d_step {
      if
      :: permits[i] > 0 -> ready = 1
      :: else -> in_list[i] = 1
      fi;
      i++
    }
  :: else -> break
  od;
  if
  :: ready ->
#ifdef SENT_BACK_UNCLAIMED
    came = 1;
#else
    d_step { came = winner == NONE; if :: came -> winner = SELF :: else fi }
#endif
    if
    :: came ->
      d_step { in_list[0] = 0 }
      d_step { in_list[1] = 0 }
      entering = 0;
      goto again
    :: else
    fi
  :: else
  fi;
  entering = 0;
  d_step { came = met; met = 1 }
  if
  :: came
  :: else -> resumed == 1
  fi;
  taken = winner;
done:
  assert(taken < 2);
  go_on(taken)
}

active proctype monitor() {
  timeout -> assert(ended && permits[0] + permits[1] == 1 && permits[got] == 0)
}

#else // FACING

// Race r sends on channel r and receives from channel 1 - r; with SAME both on channel 0.
#ifdef SAME
#define out_of(r) 0
#define in_of(r) 0
#else
#define out_of(r) (r)
#define in_of(r) (1 - (r))
#endif

bool sends[4];    // 2 * channel + race: its part stands in the list of senders
bool receives[4]; // the same for receivers
byte winner[2] = NONE;
bool met[2];
byte resumed[2];
byte ended;
byte sent, received;

// part 0 sends, part 1 receives
inline leave(r) {
  d_step { sends[2 * out_of(r) + r] = 0 }
  d_step { receives[2 * in_of(r) + r] = 0 }
}

proctype race(byte r) {
  byte o = 1 - r;
  byte k, part;
  bool ready, came;
  byte taken = NONE;
again:
  // step 1: take the other side, if it waits and no part of it has won
  if
  :: k = 0
  :: k = 1
  fi;
  part = 0;
  do
  :: part < 2 && taken == NONE ->
    d_step {
      if
      :: (k + part) % 2 == 0 && receives[2 * out_of(r) + o] ->
        receives[2 * out_of(r) + o] = 0;
        if :: winner[o] == NONE -> winner[o] = 1; taken = 0; sent++; received++ :: else fi
      :: (k + part) % 2 == 1 && sends[2 * in_of(r) + o] ->
        sends[2 * in_of(r) + o] = 0;
        if :: winner[o] == NONE -> winner[o] = 0; taken = 1; sent++; received++ :: else fi
      :: else
      fi;
      part++
    }
  :: else -> break
  od;
  if
  :: taken != NONE ->
    d_step { came = met[o]; met[o] = 1 }
    if
    :: came -> resumed[o]++
    :: else
    fi;
    goto done
  :: else
  fi;
  // step 2, in the order of the channels
  winner[r] = NONE;
  ready = 0;
  part = 0;
  do
  :: part < 2 && !ready ->
    d_step {
      if
      :: (out_of(r) <= in_of(r)) == (part == 0) -> // sends
#ifndef NOT_LOOKED
        ready = receives[2 * out_of(r) + o];
#endif
        sends[2 * out_of(r) + r] = !ready
      :: else ->
#ifndef NOT_LOOKED
        ready = sends[2 * in_of(r) + o];
#endif
        receives[2 * in_of(r) + r] = !ready
      fi;
      part++
    }
  :: else -> break
  od;
  if
  :: ready ->
    d_step { came = winner[r] == NONE; if :: came -> winner[r] = SELF :: else fi }
    if
    :: came -> leave(r); goto again
    :: else
    fi
  :: else
  fi;
  d_step { came = met[r]; met[r] = 1 }
  if
  :: came
  :: else -> resumed[r] == 1
  fi;
  taken = winner[r];
done:
  assert(taken < 2);
  leave(r);
  ended++
}

init {
  atomic { run race(0); run race(1) }
}

active proctype monitor() {
  timeout -> assert(ended == 2 && sent == 1 && received == 1)
}

#endif
