// What most runs use. These files are loaded first, next to what the engine itself is made of, so that a run writes to few pages: every
// value that is looked at has its references counted where it lies.

import './host.js';
import './unsupported.js';
import './uncaught.js';
import './proxies.js';
import './width.js';
import './inspect.js';
import './node_error.js';
import './loop.js';
import './events.js';
import './circumstances.js';
import './console.js';
import './path.js';
import './places.js';
import './messages.js';
import './stacks.js';
