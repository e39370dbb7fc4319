#include "controller/http/http_server.h"

#include <arpa/inet.h>
#include <httplib.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <list>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/http/connections.h"
#include "kernels/core/base/fd.h"

namespace railgauge::http {
namespace {

using testing::HasSubstr;

std::unique_ptr<Server> serve(std::function<std::string()> metrics) {
  auto server = Server::start("127.0.0.1", 0,
                              {.metrics = std::move(metrics), .healthy = [] { return true; }});
  EXPECT_TRUE(server) << server.error().message;
  return std::move(*server);
}

std::unique_ptr<Server> serve_small() {
  return serve([] { return std::string("a_metric 1\n"); });
}

// A connection from 127.0.0.`last`.
Fd connect_from(int last, int port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + static_cast<unsigned>(last));
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return socket;
}

void send_text(const Fd& socket, std::string_view text) {
  static_cast<void>(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL));
}

// Reads until the server ends the connection; at most `seconds` pass between two parts.
std::string read_all(const Fd& socket, int seconds) {
  std::string text;
  std::array<char, 65536> part{};
  while (true) {
    pollfd one{.fd = socket.get(), .events = POLLIN, .revents = 0};
    if (::poll(&one, 1, seconds * 1000) <= 0) return text + "<nothing more came>";
    const ssize_t count = ::recv(socket.get(), part.data(), part.size(), 0);
    if (count <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

bool is_open(const Fd& socket) {
  char byte = 0;
  return ::recv(socket.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

int status_of_healthz(int port) {
  httplib::Client client("127.0.0.1", port);
  client.set_connection_timeout(20);
  client.set_read_timeout(20);
  const auto answer = client.Get("/healthz");
  return answer ? answer->status : 0;
}

TEST(HttpServer, ServesMetricsAndHealthAndNothingElse) {
  std::atomic<bool> healthy = true;
  const auto server = Server::start("127.0.0.1", 0,
                                    {.metrics = [] { return std::string("a_metric 1\n"); },
                                     .healthy = [&] { return healthy.load(); },
                                     .remarks = [] { return std::string("read-only\n"); }});
  ASSERT_TRUE(server) << server.error().message;
  httplib::Client client("127.0.0.1", (*server)->port());
  const auto page = client.Get("/metrics");
  ASSERT_TRUE(page);
  EXPECT_THAT(page->get_header_value("Content-Type"), HasSubstr("version=0.0.4"));
  EXPECT_EQ(page->body, "a_metric 1\n");
  EXPECT_EQ(client.Get("/healthz")->status, 200);
  EXPECT_EQ(client.Get("/healthz")->body, "ok\nread-only\n");
  healthy = false;
  EXPECT_EQ(client.Get("/healthz")->status, 503);
  EXPECT_EQ(client.Get("/other")->status, 404);
  EXPECT_EQ(client.Get("/sd")->status, 404) << "an agent has no targets";
  EXPECT_EQ(client.Head("/metrics")->status, 200);
  EXPECT_EQ(client.Post("/metrics", "x", "text/plain")->status, 405);
}

TEST(HttpServer, ServesTargetsOnceTheyAreKnown) {
  std::atomic<bool> known = false;
  const auto server =
      Server::start("127.0.0.1", 0,
                    {.metrics = [] { return std::string("a_metric 1\n"); },
                     .healthy = [] { return true; },
                     .targets = [&] { return std::string(known ? "[\n]\n" : ""); }});
  ASSERT_TRUE(server) << server.error().message;
  httplib::Client client("127.0.0.1", (*server)->port());
  EXPECT_EQ(client.Get("/sd")->status, 503) << "Prometheus keeps the targets that it has";
  known = true;
  const auto list = client.Get("/sd");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->status, 200);
  EXPECT_EQ(list->get_header_value("Content-Type"), "application/json");
  EXPECT_EQ(list->body, "[\n]\n");
  EXPECT_EQ(client.Head("/sd")->status, 200);
  EXPECT_EQ(client.Get("/sd/x")->status, 404);
  EXPECT_EQ(client.Post("/sd", "x", "text/plain")->status, 405);
}

// A tenth of the bytes, for whom asks so: Prometheus does.
TEST(HttpServer, PacksThePageForWhomAsksForIt) {
  std::string text;
  for (int i = 0; i < 1'000; ++i) text += "a_metric{number=\"" + std::to_string(i) + "\"} 1\n";
  const auto server = serve([&] { return text; });
  httplib::Client client("127.0.0.1", server->port());
  const httplib::Headers gzip{{"Accept-Encoding", "gzip"}};
  const auto unpacked = client.Get("/metrics", gzip);
  ASSERT_TRUE(unpacked);
  EXPECT_EQ(unpacked->body, text);
  client.set_decompress(false);
  const auto packed = client.Get("/metrics", gzip);
  ASSERT_TRUE(packed);
  EXPECT_EQ(packed->get_header_value("Content-Encoding"), "gzip");
  EXPECT_LT(packed->body.size() * 4, text.size());
  const auto plain = client.Get("/metrics");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->body, text);
  EXPECT_FALSE(plain->has_header("Content-Encoding"));
}

// As a browser of this host asks. The best Brotli, which httplib alone knows, takes a second a MB.
TEST(HttpServer, PacksNothingByBrotli) {
  const auto server = serve([&] { return std::string(100'000, 'x'); });
  httplib::Client client("127.0.0.1", server->port());
  client.set_decompress(false);
  const auto plain = client.Get("/metrics", {{"Accept-Encoding", "gzip, deflate, br, zstd"}});
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->has_header("Content-Encoding"));
  EXPECT_EQ(plain->body.size(), 100'000U);
}

// Head and body are written apart, and the second does not wait for the peer's late answer of 40 ms
// to the first. The least of many counts, as the machine may be busy.
TEST(HttpServer, ABodyDoesNotWaitForTheAnswerToItsHead) {
  const auto server = serve([&] { return std::string(20'000, 'x'); });
  httplib::Client client("127.0.0.1", server->port());
  client.set_keep_alive(true);
  double least_ms = 1e9;
  for (int i = 0; i < 50; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(client.Get("/metrics"));
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    if (i > 20) least_ms = std::min(least_ms, took.count());
  }
  EXPECT_LT(least_ms, 35);
}

TEST(HttpServer, ATakenPortIsOneLine) {
  const auto first = Server::start("127.0.0.1", 0, {});
  ASSERT_TRUE(first);
  const auto second = Server::start("127.0.0.1", (*first)->port(), {});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("the port is taken"));
}

TEST(HttpServer, IdleConnectionsAndSlowRequestsKeepNobodyWaiting) {
  const auto server = serve_small();
  for (const std::string_view begun :
       {"", "GET /metrics HT", "GET /metrics HTTP/1.1\r\nHost: x\r\nA:"})
    for (const std::size_t count : {std::size_t{12}, Connections::kMost, 3 * Connections::kMost}) {
      std::vector<Fd> held;
      for (std::size_t i = 0; i < count; ++i) {
        held.push_back(connect_from(2, server->port()));
        send_text(held.back(), begun);
      }
      EXPECT_EQ(status_of_healthz(server->port()), 200) << count << " of: " << begun;
    }
}

TEST(HttpServer, TheSourceWithTheMostConnectionsLosesTheOldest) {
  const auto server = serve_small();
  const Fd other = connect_from(3, server->port());
  ASSERT_EQ(status_of_healthz(server->port()), 200);
  std::vector<Fd> held;
  for (std::size_t i = 0; i < Connections::kMost + 8; ++i)
    held.push_back(connect_from(2, server->port()));
  EXPECT_EQ(status_of_healthz(server->port()), 200);
  EXPECT_TRUE(is_open(other)) << "it came first, but is the only one of its source";
  EXPECT_FALSE(is_open(held.front()));
  EXPECT_TRUE(is_open(held.back()));
}

TEST(HttpServer, PeersThatDoNotReadTheirPageStopNoOtherScrape) {
  const std::string large(32U << 20U, 'x');  // more than the buffers of two sockets
  const auto server = serve([&] { return std::string(large); });
  std::vector<Fd> held;
  for (int i = 0; i < 40; ++i) {
    held.push_back(connect_from(2, server->port()));
    send_text(held.back(), "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  const Fd reader = connect_from(3, server->port());
  send_text(reader, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_GT(read_all(reader, 20).size(), large.size());
  EXPECT_EQ(status_of_healthz(server->port()), 200);
}

TEST(HttpServer, ARequestBeyondItsBoundIsRefused) {
  const auto server = serve_small();
  for (const std::string& request :
       {"GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nA: " + std::string(100'000, 'b') + "\r\n\r\n",
        "GET /metrics HTTP/1.1\r\n" +
            [] {
              std::string headers;
              for (int i = 0; i < 20'000; ++i) headers += "a: b\r\n";
              return headers;
            }() +
            "\r\n",
        std::string(100'000, '\0'), std::string("\x16\x03\x01\x02\x00\x01", 6),
        std::string("GET /metrics HTTP/9.9\r\n\r\n"), std::string("\r\n\r\n")}) {
    const Fd socket = connect_from(2, server->port());
    send_text(socket, request);
    ::shutdown(socket.get(), SHUT_WR);
    EXPECT_THAT(read_all(socket, 15), testing::Not(HasSubstr("a_metric"))) << request.substr(0, 40);
  }
  EXPECT_EQ(status_of_healthz(server->port()), 200);
}

// Else each faulty request would begin its connection's time anew.
TEST(HttpServer, AFaultyRequestIsTheLastOfItsConnection) {
  const auto server = serve_small();
  for (const std::string_view fault :
       {"nonsense\r\n\r\n", "GET /healthz HTTP/9.9\r\n\r\n", "GET /healthz\r\n\r\n"}) {
    const Fd socket = connect_from(2, server->port());
    send_text(socket, fault);
    send_text(socket, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(read_all(socket, 15), testing::Not(HasSubstr("a_metric"))) << fault;
  }
}

TEST(HttpServer, AThousandRangesAreOnePage) {
  const auto server = serve([] { return std::string(100'000, 'x'); });
  std::string ranges = "bytes=0-";
  for (int i = 0; i < 1'000; ++i) ranges += ",0-";
  httplib::Client client("127.0.0.1", server->port());
  const auto page = client.Get("/metrics", httplib::Headers{{"Range", ranges}});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->body.size(), 100'000U);
}

TEST(HttpServer, ABodyIsNeverTakenForASecondRequest) {
  const auto server = serve_small();
  const Fd socket = connect_from(2, server->port());
  const std::string second = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
  send_text(socket, "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: " +
                        std::to_string(second.size()) + "\r\n\r\n" + second);
  const std::string answer = read_all(socket, 15);
  EXPECT_THAT(answer, HasSubstr("ok\n"));
  EXPECT_THAT(answer, testing::Not(HasSubstr("a_metric")));
}

// Neither may end the server, as one failed accept once did.
TEST(HttpServer, ServesAgainAfterNoDescriptorWasFree) {
  const auto server = serve_small();
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const Fd waiting = connect_from(2, server->port());
  ASSERT_EQ(status_of_healthz(server->port()), 200);
  const Fd probe(::dup(0));
  const rlimit none{.rlim_cur = static_cast<rlim_t>(probe.get()) + 2, .rlim_max = before.rlim_max};
  std::vector<Fd> held;
  for (int i = 0; i < 1; ++i) held.push_back(connect_from(2, server->port()));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  held.clear();
  EXPECT_EQ(status_of_healthz(server->port()), 200);
}

// A server whose pages have no end: "part 1", "part 2" and so on, 20 ms apart.
std::unique_ptr<Server> serve_parts(std::atomic<int>& under_way, std::size_t bytes = 0) {
  auto server = Server::start(
      "127.0.0.1", 0,
      {.metrics = {},
       .healthy = [] { return true; },
       .other =
           [&under_way, bytes](const Request&) {
             ++under_way;
             const std::shared_ptr<void> ends(nullptr, [&under_way](void*) { --under_way; });
             Answer answer{.type = "text/event-stream"};
             answer.headers.emplace_back("X-Own", "yes");
             answer.parts = [ends, bytes, count = 0]() mutable -> std::optional<std::string> {
               std::this_thread::sleep_for(std::chrono::milliseconds(20));
               return "part " + std::to_string(++count) + std::string(bytes, 'x') + "\n";
             };
             return answer;
           }});
  EXPECT_TRUE(server) << server.error().message;
  return std::move(*server);
}

bool falls_to(const std::atomic<int>& count, int least) {
  for (int i = 0; i < 3'000 && count > least; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return count <= least;
}

TEST(HttpServer, AnAnswerInPartsLastsUntilThePeerLeaves) {
  std::atomic<int> under_way = 0;
  const auto server = serve_parts(under_way);
  {
    const Fd socket = connect_from(2, server->port());
    send_text(socket, "GET /live HTTP/1.1\r\nHost: x\r\n\r\n");
    std::string text;
    std::array<char, 4096> part{};
    while (text.find("part 3\n") == std::string::npos) {
      const ssize_t count = ::recv(socket.get(), part.data(), part.size(), 0);
      ASSERT_GT(count, 0) << text;
      text.append(part.data(), static_cast<std::size_t>(count));
    }
    EXPECT_THAT(text, testing::StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream"));
    EXPECT_THAT(text, HasSubstr("X-Content-Type-Options: nosniff\r\nX-Own: yes\r\n"));
    EXPECT_THAT(text, HasSubstr("\r\n\r\npart 1\npart 2\n"));
    EXPECT_EQ(under_way, 1);
  }
  EXPECT_TRUE(falls_to(under_way, 0)) << "nobody reads it, and it is made still";
}

TEST(HttpServer, AnswersInPartsTakeNoPlaceOfAPageAndEndWithTheServer) {
  std::atomic<int> under_way = 0;
  auto server = serve_parts(under_way);
  std::vector<Fd> followers;
  for (std::size_t i = 0; i < 2 * Connections::kMostPages; ++i) {
    followers.push_back(connect_from(2, server->port()));
    send_text(followers.back(), "GET /live HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  for (int i = 0; i < 3'000 && under_way < static_cast<int>(followers.size()); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(under_way, static_cast<int>(followers.size()));
  server.reset();
  EXPECT_EQ(under_way, 0);
}

TEST(HttpServer, APeerThatDoesNotReadItsPartsIsCut) {
  std::atomic<int> under_way = 0;
  const auto server = serve_parts(under_way, 1U << 20U);
  const Fd socket = connect_from(2, server->port());
  send_text(socket, "GET /live HTTP/1.1\r\nHost: x\r\n\r\n");
  while (under_way == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(falls_to(under_way, 0)) << "it is still waited for";
}

TEST(HttpServer, ABodyBeyondItsBoundIsRefusedAndReported) {
  Refusal seen;
  const auto server =
      Server::start("127.0.0.1", 0,
                    {.metrics = {},
                     .healthy = [] { return true; },
                     .refused = [&](const Refusal& refusal) { seen = refusal; },
                     .other = [](const Request& request) { return Answer{.body = request.body}; },
                     .most_body_bytes = 4});
  ASSERT_TRUE(server);
  httplib::Client client("127.0.0.1", (*server)->port());
  EXPECT_EQ(client.Post("/act", "four", "text/plain")->body, "four");
  EXPECT_EQ(seen.path, "");
  EXPECT_EQ(client.Post("/act", "five5", "text/plain")->status, 413);
  EXPECT_EQ(seen.path, "/act");
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.reason.code, Code::kOutOfRange);
}

TEST(HttpServer, WhoActsWaitsForNobodyWhoReads) {
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  std::atomic<int> readers = 0;
  const auto server = Server::start("127.0.0.1", 0,
                                    {.metrics = {},
                                     .healthy = [] { return true; },
                                     .other =
                                         [&](const Request& request) {
                                           if (request.method == "POST")
                                             return Answer{.body = "done"};
                                           ++readers;
                                           ended.wait();
                                           return Answer{.body = "read"};
                                         },
                                     .most_body_bytes = 10});
  ASSERT_TRUE(server);
  std::list<Fd> sockets;
  for (std::size_t i = 0; i < Connections::kMostPagesOfOneSource; ++i)
    send_text(sockets.emplace_back(connect_from(1, (*server)->port())),
              "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  while (readers < static_cast<int>(Connections::kMostPagesOfOneSource))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  httplib::Client client("127.0.0.1", (*server)->port());
  client.set_read_timeout(60);
  const auto done = client.Post("/", "{}", "application/json");
  EXPECT_EQ(readers, static_cast<int>(Connections::kMostPagesOfOneSource)) << "they read still";
  end.set_value();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->status, 200) << done->body;
  EXPECT_EQ(done->body, "done");
}

TEST(HttpServer, APageLearnsThatItsPeerHungUp) {
  std::promise<bool> told;
  std::future<bool> gone = told.get_future();
  std::atomic<bool> began = false;
  const auto server =
      Server::start("127.0.0.1", 0,
                    {.metrics = {},
                     .healthy = [] { return true; },
                     .other =
                         [&](const Request& request) {
                           EXPECT_FALSE(request.is_gone());
                           began = true;
                           bool is_gone = false;
                           for (int i = 0; i < 2'000 && !is_gone; ++i) {
                             std::this_thread::sleep_for(std::chrono::milliseconds(5));
                             is_gone = request.is_gone();
                           }
                           told.set_value(is_gone);
                           return Answer{};
                         }});
  ASSERT_TRUE(server);
  Fd socket = connect_from(2, (*server)->port());
  send_text(socket, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  while (!began) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  socket.reset();
  EXPECT_TRUE(gone.get());
}

TEST(HttpServer, EndsWhileConnectionsAreOpen) {
  auto server = serve_small();
  const Fd idle = connect_from(2, server->port());
  const Fd begun = connect_from(2, server->port());
  send_text(begun, "GET /met");
  ASSERT_EQ(status_of_healthz(server->port()), 200);
  server.reset();
  EXPECT_EQ(read_all(idle, 15), "");
}

}  // namespace
}  // namespace railgauge::http
