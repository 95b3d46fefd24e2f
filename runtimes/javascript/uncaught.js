// Where an error goes that nobody caught. `main.js` says what becomes of it.

let handle = (error) => {
  throw error;
};

export const raise = (error) => handle(error);
export const setHandler = (handler) => {
  handle = handler;
};
