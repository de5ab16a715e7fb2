import fc from 'fast-check';

// The same cases in every run, also of properties that name no seed of their own.
fc.configureGlobal({ seed: 20 });
