// A coroutine that waits for several things and gets one (engine/include/corewise/engine/detail/race.hpp,
// select.hpp; waiter_list.hpp: pop; channel.hpp: put, take).
//
// check: pass -DPERMITS
// check: pass -DFACING
// check: pass -DFACING -DSAME
// check: pass -DFACING -DTHREE
// check: pass -DFACING -DTHREE -DSAME
// check, cycles: pass -DFACING
// check, cycles: pass -DFACING -DSAME
// check, cycles: pass -DFACING -DTHREE
// check, cycles: pass -DFACING -DTHREE -DSAME
// check: pass -DFACING -DTHREE -DSAME -DONE_SIDED
// check, cycles: pass -DFACING -DTHREE -DSAME -DONE_SIDED
// check: fail -DPERMITS -DUNCLAIMED
// check: fail -DPERMITS -DCLAIMED_LATE
// check: fail -DPERMITS -DNO_MEETING
// check: fail -DPERMITS -DSENT_BACK_UNCLAIMED
// check: fail -DPERMITS -DLEFT_IN_LIST
// check: fail -DFACING -DNOT_LOOKED
// check, cycles: fail -DFACING -DUNORDERED
// check, cycles: fail -DFACING -DSAME -DONE_SIDE_LOOKED
//
// With PERMITS one race waits for a permit of either of two semaphores. Two threads release one permit each.
// With FACING two races, or THREE, each send on one channel and receive from the next, which have no room; with
// SAME the channels are one, so that each race finds its own other part there; with ONE_SIDED the third only
// sends. Then two go on. A channel is its two lists here: a sender and a receiver for each race. A lock is a
// d_step. No execution is endless: so races do not send each other back for ever.
//
// UNCLAIMED             a waker does not claim the race
// CLAIMED_LATE          a waker takes the permit before it claims, and keeps it when another part has won
// NO_MEETING            a waker resumes the coroutine at once, though that still enters other lists
// SENT_BACK_UNCLAIMED   a race that finds something ready does not claim itself before it leaves the lists
// LEFT_IN_LIST          a race that goes on leaves its other parts in their lists
// NOT_LOOKED            a race enters a list without a look at whether something is there by now
// UNORDERED             each race enters the list of senders first
// ONE_SIDE_LOOKED       a race that sends and receives on one channel looks at one side of it when it enters the other

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

// Race r sends on channel r and receives from the next one; with SAME both on channel 0.
#ifdef THREE
#define RACES 3
#else
#define RACES 2
#endif
#ifdef SAME
#define out_of(r) 0
#define in_of(r) 0
#else
#define out_of(r) (r)
#define in_of(r) ((r + 1) % RACES)
#endif
#ifdef UNORDERED
#define sends_first(r) true
#else
#define sends_first(r) (out_of(r) <= in_of(r))
#endif
#ifdef ONE_SIDED
#define receives(r) (r != 2)
#else
#define receives(r) true
#endif
#if defined(SAME) && !defined(ONE_SIDE_LOOKED)
#define both_sides(r) receives(r)
#else
#define both_sides(r) false
#endif

bool stands[2 * RACES * RACES]; // whether the race's part stands in that list of the channel
#define SENDERS 0
#define RECEIVERS 1
#define at(list, channel, race) ((list * RACES + (channel)) * RACES + race)
byte winner[RACES] = NONE;
bool met[RACES];
byte resumed[RACES];
byte ended;
byte sent, received;

// part 0 sends, part 1 receives
inline leave(r) {
  d_step { stands[at(SENDERS, out_of(r), r)] = 0 }
  d_step { stands[at(RECEIVERS, in_of(r), r)] = 0 }
}

// Takes the first other race in a list whose race no part has won, and drops those before it.
inline pop(list, channel, gets) {
  o = 0;
  do
  :: o < RACES && !(o != r && stands[at(list, channel, o)]) -> o++
  :: o < RACES && o != r && stands[at(list, channel, o)] ->
    stands[at(list, channel, o)] = 0;
    if
    :: winner[o] == NONE -> winner[o] = gets; taken = 1 - gets; sent++; received++; break
    :: else -> o++
    fi
  :: o == RACES -> break
  od
}

// Whether another race stands in a list.
inline has_other(list, channel) {
  o = 0;
  do
  :: o < RACES && !(o != r && stands[at(list, channel, o)]) -> o++
  :: else -> break
  od;
  ready = ready || o < RACES;
  o = 0
}

proctype race(byte r) {
  byte o, k, part;
  bool ready, came;
  byte taken = NONE;
again:
  // step 1: take another race, if it waits and no part of it has won
  if
  :: k = 0
  :: k = 1
  fi;
  part = 0;
  do
  :: part < 2 && taken == NONE ->
    d_step {
      if
      :: (k + part) % 2 == 0 -> pop(RECEIVERS, out_of(r), 1)
      :: (k + part) % 2 == 1 && receives(r) -> pop(SENDERS, in_of(r), 0)
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
  o = 0;
  winner[r] = NONE;
  ready = 0;
  part = 0;
  do
  :: part < 2 && !ready ->
    d_step {
#ifndef NOT_LOOKED
      if
      :: sends_first(r) == (part == 0) || both_sides(r) -> has_other(RECEIVERS, out_of(r))
      :: else
      fi;
      if
      :: receives(r) && sends_first(r) != (part == 0) || both_sides(r) -> has_other(SENDERS, in_of(r))
      :: else
      fi;
#endif
      if
      :: sends_first(r) == (part == 0) -> stands[at(SENDERS, out_of(r), r)] = !ready
      :: else -> stands[at(RECEIVERS, in_of(r), r)] = receives(r) && !ready
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
  :: else ->
end:
    resumed[r] == 1
  fi;
  taken = winner[r];
done:
  assert(taken < 2);
  leave(r);
  ended++
}

init {
  atomic { run race(0); run race(1);
#ifdef THREE
    run race(2)
#endif
  }
}

// Two have exchanged a value; a third one waits.
active proctype monitor() {
  timeout -> assert(ended == 2 && sent == 1 && received == 1)
}

#endif
