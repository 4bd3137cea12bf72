#pragma once

#include <corewise/simulator/workload.hpp>

namespace corewise {

/// Reads "exp:10us" and the like into `service`. Answers what would be right, "" when it is.
std::string read_service(service_time& service, std::string_view text, bool may_be_zero);
/// What is read as that.
std::string service_text(const service_time& service);

} // namespace corewise
