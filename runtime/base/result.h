// SPDX-License-Identifier: Apache-2.0
// Errors are values: Status and Result<T>. No exceptions, so that the shim can use them too.
#ifndef SGPRS_RUNTIME_BASE_RESULT_H_
#define SGPRS_RUNTIME_BASE_RESULT_H_

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace sgprs {

// What went wrong, in classes a caller can act on. The text says what, with which value, and what
// to do about it.
enum class ErrorCode {
  kOk = 0,
  kInvalid,  // bad input: the caller's to mend
  kNotFound,
  kUnavailable,  // not now, or not on this machine
  kRefused,      // the peer said no
  kExhausted,    // no room
  kInternal,     // the system said what it should not
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(ErrorCode code, std::string text) : code_(code), text_(std::move(text)) {}
  static Status Ok() { return Status(); }

  bool ok() const { return code_ == ErrorCode::kOk; }
  ErrorCode code() const { return code_; }
  const std::string& text() const { return text_; }
  // Puts "context: " before the text.
  Status WithContext(const std::string& context) const {
    return ok() ? *this : Status(code_, context + ": " + text_);
  }

 private:
  ErrorCode code_ = ErrorCode::kOk;
  std::string text_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    if (status_.ok()) std::abort();                     // our own bug: an error was promised
  }
  Result(ErrorCode code, std::string text) : status_(code, std::move(text)) {}

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace sgprs

#endif  // SGPRS_RUNTIME_BASE_RESULT_H_
