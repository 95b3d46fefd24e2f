# A live Ruby: runs one cell after another in one binding, as a notebook does.
#
# Frames on descriptor 3, both ways: the length in decimal, a line feed, and that many bytes of JSON. A cell may change anything that Ruby can
# reach, this file too: what it breaks is its own session, and nothing that is sent from here is believed any more than the cell's own output.

require "json"

module BelljarSession
  EXIT_INTERRUPTED = 130

  # Who pays: the server's memory, and the caller who reads the result.
  MOST_JSON = 256 << 10
  MOST_TEXT = 64 << 10
  MOST_NODES = MOST_JSON / 2
  DEEPEST = 100
  LONGEST_MESSAGE = 2000

  INTEGERS = (-(1 << 63)...(1 << 63)).freeze

  class << self
    def main
      @process = Process.pid
      @channel = IO.for_fd(3, "r+b")
      @channel.close_on_exec = true
      @channel.sync = true
      $stdout.sync = $stderr.sync = true
      # Between cells there is nothing to interrupt.
      Signal.trap("INT") { raise Interrupt, "" if @running }
      find_files_in_workspace
      send_frame({ ready: true })
      while (cell = receive)
        send_frame(run(cell))
      end
    end

    def left_by_child
      @channel.close
    end

    private

    def receive
      head = @channel.gets("\n") or return nil
      JSON.parse(@channel.read(Integer(head)).force_encoding(Encoding::UTF_8))
    rescue Interrupt
      # A handler of the program's own; nothing of the frame was taken.
      retry
    end

    def send_frame(report)
      body = JSON.generate(report)
      @channel.write("#{body.bytesize}\n", body)
      @channel.flush
    end

    def run(cell)
      report = { done: cell["cell"], exit_code: 0 }
      value, error = guarded do
        # A signal before this would be lost, and none comes.
        send_frame({ begun: cell["cell"] })
        execute(cell)
      end
      _, failure = guarded { look_at(report, value, error, cell["file"]) }
      report.update(exit_code: EXIT_INTERRUPTED, interrupted: true) if error.is_a?(Interrupt) || failure.is_a?(Interrupt)
      # A child of the cell's `fork` that came to the cell's end, which is the end of its program.
      exit(report[:exit_code]) if Process.pid != @process
      flush
      report
    end

    # What the block gives and what it raises. A second signal may come while the first is on its way.
    def guarded
      begin
        begin
          @running = true
          [yield, nil]
        ensure
          @running = false
        end
      rescue Exception => error
        @running = false
        [nil, error]
      end
    rescue Interrupt => error
      @running = false
      [nil, error]
    end

    def execute(cell)
      ENV.update(cell["env"] || {})
      ARGV.replace(cell["args"] || [])
      $0 = cell["file"]
      ($LOAD_PATH.unshift(*((cell["paths"] || []) - $LOAD_PATH)))
      (cell["variables"] || {}).each { |name, value| set(name, value) }
      give_input(cell["stdin"])
      value = TOPLEVEL_BINDING.eval(cell["code"], cell["file"], 1)
      TOPLEVEL_BINDING.local_variable_set(:_, value) unless value.nil?
      value
    end

    def set(name, value)
      if name.match?(/\A[[:upper:]]/)
        Object.send(:remove_const, name) if Object.const_defined?(name, false)
        Object.const_set(name, value)
      else
        TOPLEVEL_BINDING.local_variable_set(name, value)
      end
    end

    # Descriptor 0 itself, for the processes that the cell starts.
    def give_input(text)
      has_input = !text.nil? && !text.empty?
      return unless has_input || @has_input

      @has_input = has_input
      return STDIN.reopen(File::NULL) unless has_input

      path = File.join(ENV["TMPDIR"] || "/tmp", "stdin-#{Process.pid}-#{Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)}")
      File.open(path, File::WRONLY | File::CREAT | File::EXCL, 0o600) { |file| file.write(text) }
      STDIN.reopen(path, "r")
      File.delete(path)
      STDIN.set_encoding(Encoding::UTF_8)
      STDIN.close_on_exec = false
    end

    def look_at(report, value, error, file)
      case error
      when nil then tell_value(report, value)
      when SystemExit then report[:exit_code] = error.status & 0xFF
      else
        report[:exit_code] = 1
        tell(report, error, file)
      end
    end

    def tell_value(report, value)
      return if value.nil?

      if plain?(value) && (text = JSON.generate(value)).bytesize <= MOST_JSON
        report[:value_json] = text
      else
        report[:value_repr] = clean(value.inspect)[0, MOST_TEXT]
      end
    rescue Interrupt
      raise
    rescue Exception
      # A value that cannot be looked at is none.
    end

    # Exact classes: a subclass may answer with anything. Level by level: what contains itself reaches DEEPEST, not the end of the stack.
    def plain?(value)
      level = [value]
      nodes = 0
      DEEPEST.times do
        deeper = []
        return false if (nodes += level.size) > MOST_NODES

        level.each do |item|
          if nil.equal?(item) || true.equal?(item) || false.equal?(item)
            next
          elsif item.instance_of?(Integer)
            return false unless INTEGERS.cover?(item)
          elsif item.instance_of?(Float)
            return false unless item.finite?
          elsif item.instance_of?(String)
            return false unless (item.encoding == Encoding::UTF_8 || item.ascii_only?) && item.valid_encoding?
          elsif item.instance_of?(Array)
            deeper.concat(item)
          elsif item.instance_of?(Hash)
            return false unless item.each_key.all? { |key| key.instance_of?(String) }

            deeper.concat(item.keys, item.values)
          else
            return false
          end
        end
        return true if deeper.empty?

        level = deeper
      end
      false
    end

    # The description, then what Ruby prints, without this file's frames.
    def tell(report, error, file)
      own = ->(place) { place.start_with?(__FILE__) }
      [error, *causes(error)].each do |each|
        trace = each.backtrace or next
        each.set_backtrace(trace.drop_while(&own).take_while { |place| !own.(place) }) if trace.any?(&own)
      end
      place = error.backtrace&.find { |each| each.start_with?("#{file}:") }
      place = error.message if error.is_a?(SyntaxError) && error.message.start_with?("#{file}:")
      line = place && place.delete_prefix("#{file}:").to_i
      report[:error] = { kind: clean(error.class.to_s), message: summary(error, file) }
      report[:error][:line] = line if line&.positive?
      flush
      $stderr.write(text_of(error))
    end

    def causes(error)
      found = []
      while (error = error.cause) && found.size < DEEPEST && !found.include?(error)
        found << error
      end
      found
    end

    def summary(error, file)
      lines = clean(error.message.to_s).lines.map(&:strip).reject(&:empty?)
      lines.first.to_s.sub(/\A#{Regexp.escape(file)}:\d+: /, "")[0, LONGEST_MESSAGE]
    rescue StandardError
      ""
    end

    def text_of(error)
      text =
        if !error.backtrace.to_a.empty?
          error.full_message(highlight: false, order: :top)
        elsif error.is_a?(SyntaxError)
          error.message
        else
          # Ruby would name the place where it is asked.
          "#{error.message} (#{error.class})"
        end
      text.end_with?("\n") ? text : "#{text}\n"
    end

    def clean(text)
      text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub
    end

    def flush
      [$stdout, $stderr, STDOUT, STDERR].each do |stream|
        stream.flush
      rescue StandardError
        # The program's own, or closed.
      end
    end

    # A cell is no file, so what it names beside itself is in the workspace.
    def find_files_in_workspace
      TOPLEVEL_BINDING.receiver.define_singleton_method(:require_relative) do |name|
        place = caller_locations(1, 1).first
        folder = place.path.start_with?("<cell ") ? Dir.pwd : File.dirname(place.absolute_path || place.path)
        require File.expand_path(name, folder)
      end
    end
  end
end

if Process.respond_to?(:_fork)
  Process.singleton_class.prepend(Module.new do
    def _fork
      child = super
      BelljarSession.left_by_child if child.zero?
      child
    end
  end)
end

BelljarSession.main
