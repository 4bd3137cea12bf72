#pragma once

#include <corewise/simulator/workload.hpp>

namespace corewise {

/// Reads "exp:10us" and the like into `service`. Returns "", or for a wrong text what would be right.
std::string read_service(service_time& service, std::string_view text, bool may_be_zero);
/// Writes a text that `read_service` reads as that service.
std::string service_text(const service_time& service);

} // namespace corewise
