#pragma once

// Asio as this layer uses it: Boost's, or by itself where COREWISE_STANDALONE_ASIO is defined.

#ifdef COREWISE_STANDALONE_ASIO
#include <asio.hpp>
#else
#include <boost/asio.hpp>
#endif

namespace corewise::io {

#ifdef COREWISE_STANDALONE_ASIO
namespace asio = ::asio;
using error_code = std::error_code;
using system_error = std::system_error;
#else
namespace asio = boost::asio;
using error_code = boost::system::error_code;
using system_error = boost::system::system_error;
#endif

} // namespace corewise::io
