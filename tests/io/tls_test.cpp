#include "sockets.hpp"

#include <corewise/engine/event.hpp>

#ifdef COREWISE_STANDALONE_ASIO
#include <asio/ssl.hpp>
#else
#include <boost/asio/ssl.hpp>
#endif

#include <doctest/doctest.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

using namespace corewise;
namespace ssl = asio::ssl;

namespace {

using tls_stream = ssl::stream<io::unix_stream>;

/// A context of a server with a certificate that it has signed itself.
ssl::context make_server_context() {
  ssl::context made(ssl::context::tls_server);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), &X509_free);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* const name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"),
                             -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  REQUIRE(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);
  REQUIRE(SSL_CTX_use_certificate(made.native_handle(), certificate.get()) == 1);
  REQUIRE(SSL_CTX_use_PrivateKey(made.native_handle(), key.get()) == 1);
  return made;
}

task<> send_back(tls_stream& peer) {
  io::error_code why;
  co_await peer.async_handshake(ssl::stream_base::server, io::use_task.into(why));
  char bytes[4096];
  while (!why) {
    const std::size_t n = co_await peer.async_read_some(asio::buffer(bytes), io::use_task.into(why));
    if (!why) co_await asio::async_write(peer, asio::buffer(bytes, n), io::use_task.into(why));
  }
}

task<> ask(tls_stream& peer, std::string& question, std::string& answer) {
  co_await peer.async_handshake(ssl::stream_base::client, io::use_task);
  CHECK(co_await asio::async_write(peer, asio::buffer(question), io::use_task) == question.size());
  CHECK(co_await asio::async_read(peer, asio::buffer(answer), io::use_task) == answer.size());
  peer.next_layer().close();
}

} // namespace

TEST_CASE("TLS: a handshake, and bytes there and back") {
  ssl::context of_server = make_server_context();
  ssl::context of_client(ssl::context::tls_client);
  for (const std::uint32_t workers : {1U, 4U}) {
    served_engine on(workers);
    auto ends = make_pair(on.io);
    tls_stream server(std::move(ends.first), of_server);
    tls_stream client(std::move(ends.second), of_client);
    std::string question(40'000, 'q');
    std::string answer(question.size(), '\0');
    auto serving = on.engine.run(send_back(server));
    on.engine.run(ask(client, question, answer)).get();
    serving.get();
    CHECK(answer == question);
  }
}

TEST_CASE("TLS: a stop at every moment of a handshake and a read") {
  ssl::context of_server = make_server_context();
  ssl::context of_client(ssl::context::tls_client);
  served_engine on(4);
  for (int i = 0; i < 200; ++i) {
    auto ends = make_pair(on.io);
    tls_stream server(std::move(ends.first), of_server);
    tls_stream client(std::move(ends.second), of_client);
    std::stop_source stop;
    auto serving = on.engine.run(send_back(server));
    auto reading = on.engine.run([&]() -> task<io::error_code> {
      io::error_code why;
      co_await client.async_handshake(ssl::stream_base::client, io::use_task(stop.get_token()).into(why));
      char byte = 0;
      if (!why)
        co_await client.async_read_some(asio::buffer(&byte, 1), io::use_task(stop.get_token()).into(why));
      client.next_layer().close();
      co_return why;
    });
    const auto moment = std::chrono::steady_clock::now() + std::chrono::microseconds(10 * i);
    while (std::chrono::steady_clock::now() < moment) {
    }
    stop.request_stop();
    CHECK(reading.get() == asio::error::operation_aborted);
    serving.get();
  }
  CHECK(comes_to_rest(on.io));
}

TEST_CASE("TLS: a stop beside the bytes of a read ends it without them, or it has them whole") {
  ssl::context of_server = make_server_context();
  ssl::context of_client(ssl::context::tls_client);
  served_engine on(4);
  constexpr int rounds = 300;
  int had_all = 0;
  for (int round = 0; round < rounds; ++round) {
    auto ends = make_pair(on.io);
    tls_stream server(std::move(ends.first), of_server);
    tls_stream client(std::move(ends.second), of_client);
    std::stop_source stop;
    event reads;
    event sends;
    auto serving = on.engine.run([&]() -> task<> {
      io::error_code gone; // the client may have closed
      co_await server.async_handshake(ssl::stream_base::server, io::use_task.into(gone));
      co_await sends.wait();
      if (!gone) co_await asio::async_write(server, asio::buffer("abcd", 4), io::use_task.into(gone));
    });
    auto reading = on.engine.run([&]() -> task<io::error_code> {
      co_await client.async_handshake(ssl::stream_base::client, io::use_task);
      std::string bytes(4, ' ');
      io::error_code why;
      reads.set();
      const std::size_t n =
          co_await asio::async_read(client, asio::buffer(bytes), io::use_task(stop.get_token()).into(why));
      CHECK(bytes.substr(0, n) == (why ? "" : "abcd"));
      had_all += why ? 0 : 1;
      client.next_layer().close(); // after a stop there is nothing else
      co_return why;
    });
    CHECK(within(std::chrono::seconds{30}, [&] { return reads.is_set(); }));
    stop_beside(round, stop, [&] { sends.set(); });
    const io::error_code why = reading.get();
    CHECK((!why || why == asio::error::operation_aborted));
    serving.get();
  }
  MESSAGE(had_all, " of ", rounds, " reads had all bytes");
  CHECK(comes_to_rest(on.io));
}
