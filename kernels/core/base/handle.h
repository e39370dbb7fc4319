// Handle<Traits>: the only owner of one C handle, as large as the handle. Traits has
//   using Type = ibv_pd*;  static Type empty() { return nullptr; }  static void release(Type);
// A release that reports failure is a programmer error and CHECKs. Parents outlive children by
// member order. Movable, not copyable. Not thread safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

namespace railgauge {

// Traits of a value that the function `kRelease` releases; its result is ignored. 0 or nullptr is
// the empty value.
template <class Value, auto kRelease>
struct ReleasedBy {
  using Type = Value;
  static Type empty() { return Type{}; }
  static void release(Type value) { static_cast<void>(kRelease(value)); }
};

// A string literal as a template argument.
template <std::size_t kLength>
struct ActText {
  // NOLINTBEGIN(modernize-avoid-c-arrays): a string literal is a C array
  consteval ActText(const char (&literal)[kLength]) { std::ranges::copy(literal, text); }
  char text[kLength]{};
  // NOLINTEND(modernize-avoid-c-arrays)
};
// Traits of a value that a library's table releases: by slot `kRelease` of the table that `kTable`
// returns. With a non-empty `kAct`, `kNote` receives the act and the function's result.
template <class Value, auto kTable, auto kRelease, auto kNote = nullptr, ActText kAct = "">
struct ReleasedByTable {
  using Type = Value;
  static Type empty() { return Type{}; }
  static void release(Type value) {
    if constexpr (kAct.text[0] == '\0')
      static_cast<void>((kTable().*kRelease)(value));
    else
      kNote(static_cast<const char*>(kAct.text), (kTable().*kRelease)(value));
  }
};

// Owner of one value of Traits::Type. An empty handle releases nothing.
template <class Traits>
class Handle {
 public:
  using Type = typename Traits::Type;

  Handle() = default;
  // Takes the ownership of `raw`.
  explicit Handle(Type raw) : raw_(raw) {}
  Handle(Handle&& other) noexcept : raw_(other.release()) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { reset(); }

  [[nodiscard]] Type get() const { return raw_; }
  explicit operator bool() const { return raw_ != Traits::empty(); }
  // Returns the handle without releasing it; the caller owns it then.
  [[nodiscard]] Type release() { return std::exchange(raw_, Traits::empty()); }
  // Releases the present value and takes `raw`.
  void reset(Type raw = Traits::empty()) {
    Type old = std::exchange(raw_, raw);
    if (old != Traits::empty()) Traits::release(old);
  }

 private:
  Type raw_ = Traits::empty();
};

}  // namespace railgauge
