#pragma once

#include <cstdint>

namespace corewise::detail {

/// The names of random streams: each thing is drawn from a stream of its own. `arrival_stream` has the names
/// below these.
enum stream_name : std::uint64_t {
  services_stream = 100,
  origins_stream,
  homes_stream,
  samples_stream,
  first_client_stream = 1'000,
};

} // namespace corewise::detail
