#pragma once

// Asio as this layer uses it: Boost's, or by itself where COREWISE_STANDALONE_ASIO is defined.

#ifdef COREWISE_STANDALONE_ASIO
#include <asio.hpp>
#define COREWISE_ASIO asio // its namespace, and that of its errors
#define COREWISE_ASIO_ERRORS std
#else
#include <boost/asio.hpp>
#define COREWISE_ASIO boost::asio
#define COREWISE_ASIO_ERRORS boost::system
#endif

namespace corewise::io {

namespace asio = ::COREWISE_ASIO;
using error_code = COREWISE_ASIO_ERRORS::error_code;
using system_error = COREWISE_ASIO_ERRORS::system_error;

} // namespace corewise::io
