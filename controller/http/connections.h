// The open connections of a server, and who has to go when there are too many. Thread safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <string>

namespace railgauge::http {

class Connections {
 public:
  // At most so many at a time.
  static constexpr std::size_t kMost = 64;
  // Answers at a time whose page is large; they hold memory until the peer has read it.
  static constexpr std::size_t kMostPages = 8;
  static constexpr std::size_t kMostPagesOfOneSource = 4;
  // Each kind has as many places as these of its own: who acts waits for no reader.
  enum class Place { kRead, kAct };
  // An answer that took so long may be ended for another one.
  static constexpr double kSlowAnswerSeconds = 5;

  struct Connection {
    int fd;
    std::string source;
    double since_ns;            // of the present phase
    bool is_answering = false;  // its request is complete
    bool has_page = false;
    Place place = Place::kRead;  // of the page
    bool is_made = false;        // its page is complete; what takes time from then on is the peer
    bool is_ended = false;       // its socket was shut, its thread is about to leave
  };

  // Takes an accepted socket. When the table is full, the source with the most connections loses
  // the one that has waited longest for its peer; complete requests are only ended when they take
  // kSlowAnswerSeconds, and none whose page is being made. nullptr: nobody has to go; the caller
  // closes the socket.
  Connection* admit(int fd, std::string source);
  // Closes the socket and forgets the connection.
  void release(Connection* connection);
  // The connection enters the phase of answering, or of waiting, which gives a page's place back.
  void set_answering(Connection* connection, bool is_answering);
  // Waits for a place for a page; false: none of its kind got free in time. A peer that is slow to
  // read its page loses the place; one whose page is being made keeps it.
  bool take_page(Connection* connection, Place place = Place::kRead);
  // The page is complete and goes to the peer.
  void page_made(Connection* connection);
  // The place of the page is free before the answer is complete: it is made and sent in parts.
  void page_sent(Connection* connection);
  // Shuts every socket and waits until all are released.
  void end_all();

 private:
  // Under the lock.
  [[nodiscard]] Connection* longest(bool is_answering, double least_ns,
                                    std::optional<Place> with_page);
  [[nodiscard]] std::size_t alive() const;
  [[nodiscard]] bool has_place(const Connection& connection, Place place) const;
  static void end(Connection& connection);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Connection> all_;
  bool ending_ = false;
};

}  // namespace railgauge::http
